class Program_weight_tensor_meta_blocks_8_attn_proj_weight:
    name = 'blocks_8_attn_proj_weight'
    shape = [192, 192]
    dtype = 'torch.float32'
    device = 'cpu'
    mean = 0.0
    std = 0.07216878364870323
    min_val = None
    max_val = None
    data = None
    original_name = 'blocks.8.attn.proj.weight'

class Program_weight_tensor_meta_blocks_8_attn_proj_bias:
    name = 'blocks_8_attn_proj_bias'
    shape = [192]
    dtype = 'torch.float32'
    device = 'cpu'
    mean = 0.0
    std = 0.0
    min_val = 0.0
    max_val = 0.0
    data = None
    original_name = 'blocks.8.attn.proj.bias'
