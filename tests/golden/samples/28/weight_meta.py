class Program_weight_tensor_meta_stages_0_blocks_0_attn_qkv_weight:
    name = 'stages_0_blocks_0_attn_qkv_weight'
    shape = [192, 64]
    dtype = 'torch.float32'
    device = 'cpu'
    mean = 0.0
    std = 0.125
    min_val = None
    max_val = None
    data = None
    original_name = 'stages.0.blocks.0.attn.qkv.weight'

class Program_weight_tensor_meta_stages_0_blocks_0_attn_qkv_bias:
    name = 'stages_0_blocks_0_attn_qkv_bias'
    shape = [192]
    dtype = 'torch.float32'
    device = 'cpu'
    mean = 0.0
    std = 0.0
    min_val = 0.0
    max_val = 0.0
    data = None
    original_name = 'stages.0.blocks.0.attn.qkv.bias'
