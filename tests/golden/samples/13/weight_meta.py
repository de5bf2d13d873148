class Program_weight_tensor_meta_blocks_10_norm2_weight:
    name = 'blocks_10_norm2_weight'
    shape = [192]
    dtype = 'torch.float32'
    device = 'cpu'
    mean = 1.0
    std = 0.0
    min_val = 1.0
    max_val = 1.0
    data = None
    original_name = 'blocks.10.norm2.weight'

class Program_weight_tensor_meta_blocks_10_norm2_bias:
    name = 'blocks_10_norm2_bias'
    shape = [192]
    dtype = 'torch.float32'
    device = 'cpu'
    mean = 0.0
    std = 0.0
    min_val = 0.0
    max_val = 0.0
    data = None
    original_name = 'blocks.10.norm2.bias'

class Program_weight_tensor_meta_blocks_10_mlp_fc1_weight:
    name = 'blocks_10_mlp_fc1_weight'
    shape = [768, 192]
    dtype = 'torch.float32'
    device = 'cpu'
    mean = 0.0
    std = 0.07216878364870323
    min_val = None
    max_val = None
    data = None
    original_name = 'blocks.10.mlp.fc1.weight'

class Program_weight_tensor_meta_blocks_10_mlp_fc1_bias:
    name = 'blocks_10_mlp_fc1_bias'
    shape = [768]
    dtype = 'torch.float32'
    device = 'cpu'
    mean = 0.0
    std = 0.0
    min_val = 0.0
    max_val = 0.0
    data = None
    original_name = 'blocks.10.mlp.fc1.bias'
