class Program_weight_tensor_meta_blocks_10_attn_proj_weight:
    name = 'blocks_10_attn_proj_weight'
    shape = [128, 128]
    dtype = 'torch.float32'
    device = 'cpu'
    mean = 0.0
    std = 0.08838834764831843
    min_val = None
    max_val = None
    data = None
    original_name = 'blocks.10.attn.proj.weight'

class Program_weight_tensor_meta_blocks_10_attn_proj_bias:
    name = 'blocks_10_attn_proj_bias'
    shape = [128]
    dtype = 'torch.float32'
    device = 'cpu'
    mean = 0.0
    std = 0.0
    min_val = 0.0
    max_val = 0.0
    data = None
    original_name = 'blocks.10.attn.proj.bias'

class Program_weight_tensor_meta_blocks_10_gamma1:
    name = 'blocks_10_gamma1'
    shape = [128]
    dtype = 'torch.float32'
    device = 'cpu'
    mean = 0.0
    std = 0.02
    min_val = None
    max_val = None
    data = None
    original_name = 'blocks.10.gamma1'
