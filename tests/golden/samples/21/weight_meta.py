class Program_weight_tensor_meta_head_dist_bn_running_mean:
    name = 'head_dist_bn_running_mean'
    shape = [384]
    dtype = 'torch.float32'
    device = 'cpu'
    mean = 0.0
    std = 0.0
    min_val = 0.0
    max_val = 0.0
    data = None
    original_name = 'head_dist.bn.running_mean'

class Program_weight_tensor_meta_head_dist_bn_running_var:
    name = 'head_dist_bn_running_var'
    shape = [384]
    dtype = 'torch.float32'
    device = 'cpu'
    mean = 1.0
    std = 0.0
    min_val = 1.0
    max_val = 1.0
    data = None
    original_name = 'head_dist.bn.running_var'

class Program_weight_tensor_meta_head_dist_bn_weight:
    name = 'head_dist_bn_weight'
    shape = [384]
    dtype = 'torch.float32'
    device = 'cpu'
    mean = 1.0
    std = 0.0
    min_val = 1.0
    max_val = 1.0
    data = None
    original_name = 'head_dist.bn.weight'

class Program_weight_tensor_meta_head_dist_bn_bias:
    name = 'head_dist_bn_bias'
    shape = [384]
    dtype = 'torch.float32'
    device = 'cpu'
    mean = 0.0
    std = 0.0
    min_val = 0.0
    max_val = 0.0
    data = None
    original_name = 'head_dist.bn.bias'

class Program_weight_tensor_meta_head_dist_linear_weight:
    name = 'head_dist_linear_weight'
    shape = [1000, 384]
    dtype = 'torch.float32'
    device = 'cpu'
    mean = 0.0
    std = 0.051031036307982884
    min_val = None
    max_val = None
    data = None
    original_name = 'head_dist.linear.weight'

class Program_weight_tensor_meta_head_dist_linear_bias:
    name = 'head_dist_linear_bias'
    shape = [1000]
    dtype = 'torch.float32'
    device = 'cpu'
    mean = 0.0
    std = 0.0
    min_val = 0.0
    max_val = 0.0
    data = None
    original_name = 'head_dist.linear.bias'
