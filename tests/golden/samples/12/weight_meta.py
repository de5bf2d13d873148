class Program_weight_tensor_meta_blocks_4_norm1_weight:
    name = 'blocks_4_norm1_weight'
    shape = [192]
    dtype = 'torch.float32'
    device = 'cpu'
    mean = 1.0
    std = 0.0
    min_val = 1.0
    max_val = 1.0
    data = None
    original_name = 'blocks.4.norm1.weight'

class Program_weight_tensor_meta_blocks_4_norm1_bias:
    name = 'blocks_4_norm1_bias'
    shape = [192]
    dtype = 'torch.float32'
    device = 'cpu'
    mean = 0.0
    std = 0.0
    min_val = 0.0
    max_val = 0.0
    data = None
    original_name = 'blocks.4.norm1.bias'

class Program_weight_tensor_meta_blocks_4_attn_qkv_weight:
    name = 'blocks_4_attn_qkv_weight'
    shape = [576, 192]
    dtype = 'torch.float32'
    device = 'cpu'
    mean = 0.0
    std = 0.07216878364870323
    min_val = None
    max_val = None
    data = None
    original_name = 'blocks.4.attn.qkv.weight'

class Program_weight_tensor_meta_blocks_4_attn_qkv_bias:
    name = 'blocks_4_attn_qkv_bias'
    shape = [576]
    dtype = 'torch.float32'
    device = 'cpu'
    mean = 0.0
    std = 0.0
    min_val = 0.0
    max_val = 0.0
    data = None
    original_name = 'blocks.4.attn.qkv.bias'

class Program_weight_tensor_meta_blocks_4_attn_proj_weight:
    name = 'blocks_4_attn_proj_weight'
    shape = [192, 192]
    dtype = 'torch.float32'
    device = 'cpu'
    mean = 0.0
    std = 0.07216878364870323
    min_val = None
    max_val = None
    data = None
    original_name = 'blocks.4.attn.proj.weight'

class Program_weight_tensor_meta_blocks_4_attn_proj_bias:
    name = 'blocks_4_attn_proj_bias'
    shape = [192]
    dtype = 'torch.float32'
    device = 'cpu'
    mean = 0.0
    std = 0.0
    min_val = 0.0
    max_val = 0.0
    data = None
    original_name = 'blocks.4.attn.proj.bias'

class Program_weight_tensor_meta_blocks_4_norm2_weight:
    name = 'blocks_4_norm2_weight'
    shape = [192]
    dtype = 'torch.float32'
    device = 'cpu'
    mean = 1.0
    std = 0.0
    min_val = 1.0
    max_val = 1.0
    data = None
    original_name = 'blocks.4.norm2.weight'

class Program_weight_tensor_meta_blocks_4_norm2_bias:
    name = 'blocks_4_norm2_bias'
    shape = [192]
    dtype = 'torch.float32'
    device = 'cpu'
    mean = 0.0
    std = 0.0
    min_val = 0.0
    max_val = 0.0
    data = None
    original_name = 'blocks.4.norm2.bias'

class Program_weight_tensor_meta_blocks_4_mlp_fc1_weight:
    name = 'blocks_4_mlp_fc1_weight'
    shape = [768, 192]
    dtype = 'torch.float32'
    device = 'cpu'
    mean = 0.0
    std = 0.07216878364870323
    min_val = None
    max_val = None
    data = None
    original_name = 'blocks.4.mlp.fc1.weight'

class Program_weight_tensor_meta_blocks_4_mlp_fc1_bias:
    name = 'blocks_4_mlp_fc1_bias'
    shape = [768]
    dtype = 'torch.float32'
    device = 'cpu'
    mean = 0.0
    std = 0.0
    min_val = 0.0
    max_val = 0.0
    data = None
    original_name = 'blocks.4.mlp.fc1.bias'
