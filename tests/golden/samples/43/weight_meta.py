class Program_weight_tensor_meta_blocks_1_norm2_weight:
    name = 'blocks_1_norm2_weight'
    shape = [192]
    dtype = 'torch.float32'
    device = 'cpu'
    mean = 1.0
    std = 0.0
    min_val = 1.0
    max_val = 1.0
    data = None
    original_name = 'blocks.1.norm2.weight'

class Program_weight_tensor_meta_blocks_1_norm2_bias:
    name = 'blocks_1_norm2_bias'
    shape = [192]
    dtype = 'torch.float32'
    device = 'cpu'
    mean = 0.0
    std = 0.0
    min_val = 0.0
    max_val = 0.0
    data = None
    original_name = 'blocks.1.norm2.bias'

class Program_weight_tensor_meta_blocks_1_mlp_fc1_weight:
    name = 'blocks_1_mlp_fc1_weight'
    shape = [1024, 192]
    dtype = 'torch.float32'
    device = 'cpu'
    mean = 0.0
    std = 0.07216878364870323
    min_val = None
    max_val = None
    data = None
    original_name = 'blocks.1.mlp.fc1.weight'

class Program_weight_tensor_meta_blocks_1_mlp_fc1_bias:
    name = 'blocks_1_mlp_fc1_bias'
    shape = [1024]
    dtype = 'torch.float32'
    device = 'cpu'
    mean = 0.0
    std = 0.0
    min_val = 0.0
    max_val = 0.0
    data = None
    original_name = 'blocks.1.mlp.fc1.bias'

class Program_weight_tensor_meta_blocks_1_mlp_fc2_weight:
    name = 'blocks_1_mlp_fc2_weight'
    shape = [192, 512]
    dtype = 'torch.float32'
    device = 'cpu'
    mean = 0.0
    std = 0.044194173824159216
    min_val = None
    max_val = None
    data = None
    original_name = 'blocks.1.mlp.fc2.weight'

class Program_weight_tensor_meta_blocks_1_mlp_fc2_bias:
    name = 'blocks_1_mlp_fc2_bias'
    shape = [192]
    dtype = 'torch.float32'
    device = 'cpu'
    mean = 0.0
    std = 0.0
    min_val = 0.0
    max_val = 0.0
    data = None
    original_name = 'blocks.1.mlp.fc2.bias'

class Program_weight_tensor_meta_blocks_2_norm1_weight:
    name = 'blocks_2_norm1_weight'
    shape = [192]
    dtype = 'torch.float32'
    device = 'cpu'
    mean = 1.0
    std = 0.0
    min_val = 1.0
    max_val = 1.0
    data = None
    original_name = 'blocks.2.norm1.weight'

class Program_weight_tensor_meta_blocks_2_norm1_bias:
    name = 'blocks_2_norm1_bias'
    shape = [192]
    dtype = 'torch.float32'
    device = 'cpu'
    mean = 0.0
    std = 0.0
    min_val = 0.0
    max_val = 0.0
    data = None
    original_name = 'blocks.2.norm1.bias'

class Program_weight_tensor_meta_blocks_2_attn_q_bias:
    name = 'blocks_2_attn_q_bias'
    shape = [192]
    dtype = 'torch.float32'
    device = 'cpu'
    mean = 0.0
    std = 0.0
    min_val = 0.0
    max_val = 0.0
    data = None
    original_name = 'blocks.2.attn.q_bias'

class Program_weight_tensor_meta_blocks_2_attn_k_bias:
    name = 'blocks_2_attn_k_bias'
    shape = [192]
    dtype = 'torch.float32'
    device = 'cpu'
    mean = None
    std = None
    min_val = None
    max_val = None
    data = None
    original_name = 'blocks.2.attn.k_bias'

class Program_weight_tensor_meta_blocks_2_attn_v_bias:
    name = 'blocks_2_attn_v_bias'
    shape = [192]
    dtype = 'torch.float32'
    device = 'cpu'
    mean = 0.0
    std = 0.0
    min_val = 0.0
    max_val = 0.0
    data = None
    original_name = 'blocks.2.attn.v_bias'

class Program_weight_tensor_meta_blocks_2_attn_qkv_weight:
    name = 'blocks_2_attn_qkv_weight'
    shape = [576, 192]
    dtype = 'torch.float32'
    device = 'cpu'
    mean = 0.0
    std = 0.07216878364870323
    min_val = None
    max_val = None
    data = None
    original_name = 'blocks.2.attn.qkv.weight'
