class Program_weight_tensor_meta_head_norm_weight:
    name = 'head_norm_weight'
    shape = [768]
    dtype = 'torch.float32'
    device = 'cpu'
    mean = 1.0
    std = 0.0
    min_val = 1.0
    max_val = 1.0
    data = None
    original_name = 'head.norm.weight'

class Program_weight_tensor_meta_head_norm_bias:
    name = 'head_norm_bias'
    shape = [768]
    dtype = 'torch.float32'
    device = 'cpu'
    mean = 0.0
    std = 0.0
    min_val = 0.0
    max_val = 0.0
    data = None
    original_name = 'head.norm.bias'

class Program_weight_tensor_meta_head_fc_weight:
    name = 'head_fc_weight'
    shape = [1000, 768]
    dtype = 'torch.float32'
    device = 'cpu'
    mean = 0.0
    std = 0.036084391824351615
    min_val = None
    max_val = None
    data = None
    original_name = 'head.fc.weight'

class Program_weight_tensor_meta_head_fc_bias:
    name = 'head_fc_bias'
    shape = [1000]
    dtype = 'torch.float32'
    device = 'cpu'
    mean = 0.0
    std = 0.0
    min_val = 0.0
    max_val = 0.0
    data = None
    original_name = 'head.fc.bias'
