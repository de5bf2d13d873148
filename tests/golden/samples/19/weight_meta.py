class Program_weight_tensor_meta_stages_3_0_self_attn_kv_weight:
    name = 'stages_3_0_self_attn_kv_weight'
    shape = [1024, 512, 1, 1]
    dtype = 'torch.float32'
    device = 'cpu'
    mean = 0.0
    std = 0.044194173824159216
    min_val = None
    max_val = None
    data = None
    original_name = 'stages.3.0.self_attn.kv.weight'
