class Program_weight_tensor_meta_blocks_0_norm1_weight:
    name = 'blocks_0_norm1_weight'
    shape = [512]
    dtype = 'torch.float32'
    device = 'cpu'
    mean = 1.0
    std = 0.0
    min_val = 1.0
    max_val = 1.0
    data = None
    original_name = 'blocks.0.norm1.weight'

class Program_weight_tensor_meta_blocks_0_norm1_bias:
    name = 'blocks_0_norm1_bias'
    shape = [512]
    dtype = 'torch.float32'
    device = 'cpu'
    mean = 0.0
    std = 0.0
    min_val = 0.0
    max_val = 0.0
    data = None
    original_name = 'blocks.0.norm1.bias'

class Program_weight_tensor_meta_blocks_0_mlp_tokens_fc1_weight:
    name = 'blocks_0_mlp_tokens_fc1_weight'
    shape = [256, 49]
    dtype = 'torch.float32'
    device = 'cpu'
    mean = 0.0
    std = 0.14285714285714285
    min_val = None
    max_val = None
    data = None
    original_name = 'blocks.0.mlp_tokens.fc1.weight'

class Program_weight_tensor_meta_blocks_0_mlp_tokens_fc1_bias:
    name = 'blocks_0_mlp_tokens_fc1_bias'
    shape = [256]
    dtype = 'torch.float32'
    device = 'cpu'
    mean = 0.0
    std = 0.0
    min_val = 0.0
    max_val = 0.0
    data = None
    original_name = 'blocks.0.mlp_tokens.fc1.bias'

class Program_weight_tensor_meta_blocks_0_mlp_tokens_fc2_weight:
    name = 'blocks_0_mlp_tokens_fc2_weight'
    shape = [49, 256]
    dtype = 'torch.float32'
    device = 'cpu'
    mean = 0.0
    std = 0.0625
    min_val = None
    max_val = None
    data = None
    original_name = 'blocks.0.mlp_tokens.fc2.weight'

class Program_weight_tensor_meta_blocks_0_mlp_tokens_fc2_bias:
    name = 'blocks_0_mlp_tokens_fc2_bias'
    shape = [49]
    dtype = 'torch.float32'
    device = 'cpu'
    mean = 0.0
    std = 0.0
    min_val = 0.0
    max_val = 0.0
    data = None
    original_name = 'blocks.0.mlp_tokens.fc2.bias'

class Program_weight_tensor_meta_blocks_0_norm2_weight:
    name = 'blocks_0_norm2_weight'
    shape = [512]
    dtype = 'torch.float32'
    device = 'cpu'
    mean = 1.0
    std = 0.0
    min_val = 1.0
    max_val = 1.0
    data = None
    original_name = 'blocks.0.norm2.weight'

class Program_weight_tensor_meta_blocks_0_norm2_bias:
    name = 'blocks_0_norm2_bias'
    shape = [512]
    dtype = 'torch.float32'
    device = 'cpu'
    mean = 0.0
    std = 0.0
    min_val = 0.0
    max_val = 0.0
    data = None
    original_name = 'blocks.0.norm2.bias'

class Program_weight_tensor_meta_blocks_0_mlp_channels_fc1_weight:
    name = 'blocks_0_mlp_channels_fc1_weight'
    shape = [2048, 512]
    dtype = 'torch.float32'
    device = 'cpu'
    mean = 0.0
    std = 0.044194173824159216
    min_val = None
    max_val = None
    data = None
    original_name = 'blocks.0.mlp_channels.fc1.weight'

class Program_weight_tensor_meta_blocks_0_mlp_channels_fc1_bias:
    name = 'blocks_0_mlp_channels_fc1_bias'
    shape = [2048]
    dtype = 'torch.float32'
    device = 'cpu'
    mean = 0.0
    std = 0.0
    min_val = 0.0
    max_val = 0.0
    data = None
    original_name = 'blocks.0.mlp_channels.fc1.bias'
