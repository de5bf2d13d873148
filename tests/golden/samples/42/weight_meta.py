class Program_weight_tensor_meta_blocks_11_attn_proj_weight:
    name = 'blocks_11_attn_proj_weight'
    shape = [192, 192]
    dtype = 'torch.float32'
    device = 'cpu'
    mean = 0.0
    std = 0.07216878364870323
    min_val = None
    max_val = None
    data = None
    original_name = 'blocks.11.attn.proj.weight'

class Program_weight_tensor_meta_blocks_11_attn_proj_bias:
    name = 'blocks_11_attn_proj_bias'
    shape = [192]
    dtype = 'torch.float32'
    device = 'cpu'
    mean = 0.0
    std = 0.0
    min_val = 0.0
    max_val = 0.0
    data = None
    original_name = 'blocks.11.attn.proj.bias'

class Program_weight_tensor_meta_blocks_11_norm2_weight:
    name = 'blocks_11_norm2_weight'
    shape = [192]
    dtype = 'torch.float32'
    device = 'cpu'
    mean = 1.0
    std = 0.0
    min_val = 1.0
    max_val = 1.0
    data = None
    original_name = 'blocks.11.norm2.weight'

class Program_weight_tensor_meta_blocks_11_norm2_bias:
    name = 'blocks_11_norm2_bias'
    shape = [192]
    dtype = 'torch.float32'
    device = 'cpu'
    mean = 0.0
    std = 0.0
    min_val = 0.0
    max_val = 0.0
    data = None
    original_name = 'blocks.11.norm2.bias'

class Program_weight_tensor_meta_blocks_11_mlp_fc1_weight:
    name = 'blocks_11_mlp_fc1_weight'
    shape = [1024, 192]
    dtype = 'torch.float32'
    device = 'cpu'
    mean = 0.0
    std = 0.07216878364870323
    min_val = None
    max_val = None
    data = None
    original_name = 'blocks.11.mlp.fc1.weight'

class Program_weight_tensor_meta_blocks_11_mlp_fc1_bias:
    name = 'blocks_11_mlp_fc1_bias'
    shape = [1024]
    dtype = 'torch.float32'
    device = 'cpu'
    mean = 0.0
    std = 0.0
    min_val = 0.0
    max_val = 0.0
    data = None
    original_name = 'blocks.11.mlp.fc1.bias'

class Program_weight_tensor_meta_blocks_11_mlp_fc2_weight:
    name = 'blocks_11_mlp_fc2_weight'
    shape = [192, 512]
    dtype = 'torch.float32'
    device = 'cpu'
    mean = 0.0
    std = 0.044194173824159216
    min_val = None
    max_val = None
    data = None
    original_name = 'blocks.11.mlp.fc2.weight'

class Program_weight_tensor_meta_blocks_11_mlp_fc2_bias:
    name = 'blocks_11_mlp_fc2_bias'
    shape = [192]
    dtype = 'torch.float32'
    device = 'cpu'
    mean = 0.0
    std = 0.0
    min_val = 0.0
    max_val = 0.0
    data = None
    original_name = 'blocks.11.mlp.fc2.bias'
