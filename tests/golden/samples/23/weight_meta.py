class Program_weight_tensor_meta_network_3_6_norm1_weight:
    name = 'network_3_6_norm1_weight'
    shape = [384]
    dtype = 'torch.float32'
    device = 'cpu'
    mean = 1.0
    std = 0.0
    min_val = 1.0
    max_val = 1.0
    data = None
    original_name = 'network.3.6.norm1.weight'

class Program_weight_tensor_meta_network_3_6_norm1_bias:
    name = 'network_3_6_norm1_bias'
    shape = [384]
    dtype = 'torch.float32'
    device = 'cpu'
    mean = 0.0
    std = 0.0
    min_val = 0.0
    max_val = 0.0
    data = None
    original_name = 'network.3.6.norm1.bias'

class Program_weight_tensor_meta_network_3_6_attn_qkv_weight:
    name = 'network_3_6_attn_qkv_weight'
    shape = [1152, 384]
    dtype = 'torch.float32'
    device = 'cpu'
    mean = 0.0
    std = 0.051031036307982884
    min_val = None
    max_val = None
    data = None
    original_name = 'network.3.6.attn.qkv.weight'

class Program_weight_tensor_meta_network_3_6_attn_proj_weight:
    name = 'network_3_6_attn_proj_weight'
    shape = [384, 384]
    dtype = 'torch.float32'
    device = 'cpu'
    mean = 0.0
    std = 0.051031036307982884
    min_val = None
    max_val = None
    data = None
    original_name = 'network.3.6.attn.proj.weight'

class Program_weight_tensor_meta_network_3_6_attn_proj_bias:
    name = 'network_3_6_attn_proj_bias'
    shape = [384]
    dtype = 'torch.float32'
    device = 'cpu'
    mean = 0.0
    std = 0.0
    min_val = 0.0
    max_val = 0.0
    data = None
    original_name = 'network.3.6.attn.proj.bias'
