class Program_weight_tensor_meta_stages_3_blocks_0_attn_block_attn_rel_pos_width_lookup:
    name = 'stages_3_blocks_0_attn_block_attn_rel_pos_width_lookup'
    shape = [7, 7, 13]
    dtype = 'torch.float32'
    device = 'cpu'
    mean = None
    std = None
    min_val = None
    max_val = None
    data = None
    original_name = 'stages.3.blocks.0.attn_block.attn.rel_pos.width_lookup'

class Program_weight_tensor_meta_stages_3_blocks_0_attn_block_attn_proj_weight:
    name = 'stages_3_blocks_0_attn_block_attn_proj_weight'
    shape = [512, 512]
    dtype = 'torch.float32'
    device = 'cpu'
    mean = 0.0
    std = 0.044194173824159216
    min_val = None
    max_val = None
    data = None
    original_name = 'stages.3.blocks.0.attn_block.attn.proj.weight'

class Program_weight_tensor_meta_stages_3_blocks_0_attn_block_attn_proj_bias:
    name = 'stages_3_blocks_0_attn_block_attn_proj_bias'
    shape = [512]
    dtype = 'torch.float32'
    device = 'cpu'
    mean = 0.0
    std = 0.0
    min_val = 0.0
    max_val = 0.0
    data = None
    original_name = 'stages.3.blocks.0.attn_block.attn.proj.bias'
