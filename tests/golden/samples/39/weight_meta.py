class Program_weight_tensor_meta_stages_1_1_conv1_1x1_conv_weight:
    name = 'stages_1_1_conv1_1x1_conv_weight'
    shape = [192, 48, 1, 1]
    dtype = 'torch.float32'
    device = 'cpu'
    mean = 0.0
    std = 0.14433756729740646
    min_val = None
    max_val = None
    data = None
    original_name = 'stages.1.1.conv1_1x1.conv.weight'

class Program_weight_tensor_meta_stages_1_1_conv1_1x1_bn_running_mean:
    name = 'stages_1_1_conv1_1x1_bn_running_mean'
    shape = [192]
    dtype = 'torch.float32'
    device = 'cpu'
    mean = 0.0
    std = 0.0
    min_val = 0.0
    max_val = 0.0
    data = None
    original_name = 'stages.1.1.conv1_1x1.bn.running_mean'

class Program_weight_tensor_meta_stages_1_1_conv1_1x1_bn_running_var:
    name = 'stages_1_1_conv1_1x1_bn_running_var'
    shape = [192]
    dtype = 'torch.float32'
    device = 'cpu'
    mean = 1.0
    std = 0.0
    min_val = 1.0
    max_val = 1.0
    data = None
    original_name = 'stages.1.1.conv1_1x1.bn.running_var'

class Program_weight_tensor_meta_stages_1_1_conv1_1x1_bn_weight:
    name = 'stages_1_1_conv1_1x1_bn_weight'
    shape = [192]
    dtype = 'torch.float32'
    device = 'cpu'
    mean = 1.0
    std = 0.0
    min_val = 1.0
    max_val = 1.0
    data = None
    original_name = 'stages.1.1.conv1_1x1.bn.weight'

class Program_weight_tensor_meta_stages_1_1_conv1_1x1_bn_bias:
    name = 'stages_1_1_conv1_1x1_bn_bias'
    shape = [192]
    dtype = 'torch.float32'
    device = 'cpu'
    mean = 0.0
    std = 0.0
    min_val = 0.0
    max_val = 0.0
    data = None
    original_name = 'stages.1.1.conv1_1x1.bn.bias'
