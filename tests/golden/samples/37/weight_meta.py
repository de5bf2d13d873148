class Program_weight_tensor_meta_blocks_2_fusion_0_attn_proj_weight:
    name = 'blocks_2_fusion_0_attn_proj_weight'
    shape = [192, 192]
    dtype = 'torch.float32'
    device = 'cpu'
    mean = 0.0
    std = 0.07216878364870323
    min_val = None
    max_val = None
    data = None
    original_name = 'blocks.2.fusion.0.attn.proj.weight'

class Program_weight_tensor_meta_blocks_2_fusion_0_attn_proj_bias:
    name = 'blocks_2_fusion_0_attn_proj_bias'
    shape = [192]
    dtype = 'torch.float32'
    device = 'cpu'
    mean = 0.0
    std = 0.0
    min_val = 0.0
    max_val = 0.0
    data = None
    original_name = 'blocks.2.fusion.0.attn.proj.bias'

class Program_weight_tensor_meta_blocks_2_revert_projs_0_0_weight:
    name = 'blocks_2_revert_projs_0_0_weight'
    shape = [192]
    dtype = 'torch.float32'
    device = 'cpu'
    mean = 1.0
    std = 0.0
    min_val = 1.0
    max_val = 1.0
    data = None
    original_name = 'blocks.2.revert_projs.0.0.weight'

class Program_weight_tensor_meta_blocks_2_revert_projs_0_0_bias:
    name = 'blocks_2_revert_projs_0_0_bias'
    shape = [192]
    dtype = 'torch.float32'
    device = 'cpu'
    mean = 0.0
    std = 0.0
    min_val = 0.0
    max_val = 0.0
    data = None
    original_name = 'blocks.2.revert_projs.0.0.bias'

class Program_weight_tensor_meta_blocks_2_revert_projs_0_2_weight:
    name = 'blocks_2_revert_projs_0_2_weight'
    shape = [96, 192]
    dtype = 'torch.float32'
    device = 'cpu'
    mean = 0.0
    std = 0.07216878364870323
    min_val = None
    max_val = None
    data = None
    original_name = 'blocks.2.revert_projs.0.2.weight'

class Program_weight_tensor_meta_blocks_2_revert_projs_0_2_bias:
    name = 'blocks_2_revert_projs_0_2_bias'
    shape = [96]
    dtype = 'torch.float32'
    device = 'cpu'
    mean = 0.0
    std = 0.0
    min_val = 0.0
    max_val = 0.0
    data = None
    original_name = 'blocks.2.revert_projs.0.2.bias'
