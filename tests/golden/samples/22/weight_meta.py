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
