class Program_weight_tensor_meta_layer3_0_conv2_weight:
    name = 'layer3_0_conv2_weight'
    shape = [256, 256, 3, 3]
    dtype = 'torch.float32'
    device = 'cpu'
    mean = 0.0
    std = 0.020833333333333332
    min_val = None
    max_val = None
    data = None
    original_name = 'layer3.0.conv2.weight'

class Program_weight_tensor_meta_layer3_0_bn2_running_mean:
    name = 'layer3_0_bn2_running_mean'
    shape = [256]
    dtype = 'torch.float32'
    device = 'cpu'
    mean = 0.0
    std = 0.0
    min_val = 0.0
    max_val = 0.0
    data = None
    original_name = 'layer3.0.bn2.running_mean'

class Program_weight_tensor_meta_layer3_0_bn2_running_var:
    name = 'layer3_0_bn2_running_var'
    shape = [256]
    dtype = 'torch.float32'
    device = 'cpu'
    mean = 1.0
    std = 0.0
    min_val = 1.0
    max_val = 1.0
    data = None
    original_name = 'layer3.0.bn2.running_var'

class Program_weight_tensor_meta_layer3_0_bn2_weight:
    name = 'layer3_0_bn2_weight'
    shape = [256]
    dtype = 'torch.float32'
    device = 'cpu'
    mean = 1.0
    std = 0.0
    min_val = 1.0
    max_val = 1.0
    data = None
    original_name = 'layer3.0.bn2.weight'

class Program_weight_tensor_meta_layer3_0_bn2_bias:
    name = 'layer3_0_bn2_bias'
    shape = [256]
    dtype = 'torch.float32'
    device = 'cpu'
    mean = 0.0
    std = 0.0
    min_val = 0.0
    max_val = 0.0
    data = None
    original_name = 'layer3.0.bn2.bias'

class Program_weight_tensor_meta_layer3_0_downsample_0_weight:
    name = 'layer3_0_downsample_0_weight'
    shape = [256, 128, 1, 1]
    dtype = 'torch.float32'
    device = 'cpu'
    mean = 0.0
    std = 0.08838834764831843
    min_val = None
    max_val = None
    data = None
    original_name = 'layer3.0.downsample.0.weight'

class Program_weight_tensor_meta_layer3_0_downsample_1_running_mean:
    name = 'layer3_0_downsample_1_running_mean'
    shape = [256]
    dtype = 'torch.float32'
    device = 'cpu'
    mean = 0.0
    std = 0.0
    min_val = 0.0
    max_val = 0.0
    data = None
    original_name = 'layer3.0.downsample.1.running_mean'

class Program_weight_tensor_meta_layer3_0_downsample_1_running_var:
    name = 'layer3_0_downsample_1_running_var'
    shape = [256]
    dtype = 'torch.float32'
    device = 'cpu'
    mean = 1.0
    std = 0.0
    min_val = 1.0
    max_val = 1.0
    data = None
    original_name = 'layer3.0.downsample.1.running_var'

class Program_weight_tensor_meta_layer3_0_downsample_1_weight:
    name = 'layer3_0_downsample_1_weight'
    shape = [256]
    dtype = 'torch.float32'
    device = 'cpu'
    mean = 1.0
    std = 0.0
    min_val = 1.0
    max_val = 1.0
    data = None
    original_name = 'layer3.0.downsample.1.weight'

class Program_weight_tensor_meta_layer3_0_downsample_1_bias:
    name = 'layer3_0_downsample_1_bias'
    shape = [256]
    dtype = 'torch.float32'
    device = 'cpu'
    mean = 0.0
    std = 0.0
    min_val = 0.0
    max_val = 0.0
    data = None
    original_name = 'layer3.0.downsample.1.bias'
