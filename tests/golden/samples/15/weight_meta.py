class Program_weight_tensor_meta_layers_0_blocks_0_attn_proj_weight:
    name = 'layers_0_blocks_0_attn_proj_weight'
    shape = [96, 96]
    dtype = 'torch.float32'
    device = 'cpu'
    mean = 0.0
    std = 0.10206207261596577
    min_val = None
    max_val = None
    data = None
    original_name = 'layers.0.blocks.0.attn.proj.weight'

class Program_weight_tensor_meta_layers_0_blocks_0_attn_proj_bias:
    name = 'layers_0_blocks_0_attn_proj_bias'
    shape = [96]
    dtype = 'torch.float32'
    device = 'cpu'
    mean = 0.0
    std = 0.0
    min_val = 0.0
    max_val = 0.0
    data = None
    original_name = 'layers.0.blocks.0.attn.proj.bias'
