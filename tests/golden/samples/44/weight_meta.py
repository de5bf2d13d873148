class Program_weight_tensor_meta_blocks_12_attn_proj_l_weight:
    name = 'blocks_12_attn_proj_l_weight'
    shape = [4, 4]
    dtype = 'torch.float32'
    device = 'cpu'
    mean = 0.0
    std = 0.5
    min_val = None
    max_val = None
    data = None
    original_name = 'blocks.12.attn.proj_l.weight'

class Program_weight_tensor_meta_blocks_12_attn_proj_l_bias:
    name = 'blocks_12_attn_proj_l_bias'
    shape = [4]
    dtype = 'torch.float32'
    device = 'cpu'
    mean = 0.0
    std = 0.0
    min_val = 0.0
    max_val = 0.0
    data = None
    original_name = 'blocks.12.attn.proj_l.bias'

class Program_weight_tensor_meta_blocks_12_attn_proj_w_weight:
    name = 'blocks_12_attn_proj_w_weight'
    shape = [4, 4]
    dtype = 'torch.float32'
    device = 'cpu'
    mean = 0.0
    std = 0.5
    min_val = None
    max_val = None
    data = None
    original_name = 'blocks.12.attn.proj_w.weight'

class Program_weight_tensor_meta_blocks_12_attn_proj_w_bias:
    name = 'blocks_12_attn_proj_w_bias'
    shape = [4]
    dtype = 'torch.float32'
    device = 'cpu'
    mean = 0.0
    std = 0.0
    min_val = 0.0
    max_val = 0.0
    data = None
    original_name = 'blocks.12.attn.proj_w.bias'
