class Program_weight_tensor_meta_blocks_1_blocks_0_0_attn_proj_weight:
    name = 'blocks_1_blocks_0_0_attn_proj_weight'
    shape = [96, 96]
    dtype = 'torch.float32'
    device = 'cpu'
    mean = 0.0
    std = 0.10206207261596577
    min_val = None
    max_val = None
    data = None
    original_name = 'blocks.1.blocks.0.0.attn.proj.weight'

class Program_weight_tensor_meta_blocks_1_blocks_0_0_attn_proj_bias:
    name = 'blocks_1_blocks_0_0_attn_proj_bias'
    shape = [96]
    dtype = 'torch.float32'
    device = 'cpu'
    mean = 0.0
    std = 0.0
    min_val = 0.0
    max_val = 0.0
    data = None
    original_name = 'blocks.1.blocks.0.0.attn.proj.bias'

class Program_weight_tensor_meta_blocks_1_blocks_0_0_norm2_weight:
    name = 'blocks_1_blocks_0_0_norm2_weight'
    shape = [96]
    dtype = 'torch.float32'
    device = 'cpu'
    mean = 1.0
    std = 0.0
    min_val = 1.0
    max_val = 1.0
    data = None
    original_name = 'blocks.1.blocks.0.0.norm2.weight'

class Program_weight_tensor_meta_blocks_1_blocks_0_0_norm2_bias:
    name = 'blocks_1_blocks_0_0_norm2_bias'
    shape = [96]
    dtype = 'torch.float32'
    device = 'cpu'
    mean = 0.0
    std = 0.0
    min_val = 0.0
    max_val = 0.0
    data = None
    original_name = 'blocks.1.blocks.0.0.norm2.bias'
