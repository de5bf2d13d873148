class Program_weight_tensor_meta_stages_3_blocks_0_gamma:
    name = 'stages_3_blocks_0_gamma'
    shape = [320]
    dtype = 'torch.float32'
    device = 'cpu'
    mean = 0.0
    std = 0.02
    min_val = None
    max_val = None
    data = None
    original_name = 'stages.3.blocks.0.gamma'
