class Program_weight_tensor_meta_layer1_0_bn1_running_mean:
    name = 'layer1_0_bn1_running_mean'
    shape = [64]
    dtype = 'torch.float32'
    device = 'cpu'
    mean = 0.0
    std = 0.0
    min_val = 0.0
    max_val = 0.0
    data = None
    original_name = 'layer1.0.bn1.running_mean'

class Program_weight_tensor_meta_layer1_0_bn1_running_var:
    name = 'layer1_0_bn1_running_var'
    shape = [64]
    dtype = 'torch.float32'
    device = 'cpu'
    mean = 1.0
    std = 0.0
    min_val = 1.0
    max_val = 1.0
    data = None
    original_name = 'layer1.0.bn1.running_var'

class Program_weight_tensor_meta_layer1_0_bn1_weight:
    name = 'layer1_0_bn1_weight'
    shape = [64]
    dtype = 'torch.float32'
    device = 'cpu'
    mean = 1.0
    std = 0.0
    min_val = 1.0
    max_val = 1.0
    data = None
    original_name = 'layer1.0.bn1.weight'

class Program_weight_tensor_meta_layer1_0_bn1_bias:
    name = 'layer1_0_bn1_bias'
    shape = [64]
    dtype = 'torch.float32'
    device = 'cpu'
    mean = 0.0
    std = 0.0
    min_val = 0.0
    max_val = 0.0
    data = None
    original_name = 'layer1.0.bn1.bias'

class Program_weight_tensor_meta_layer1_0_conv2_weight:
    name = 'layer1_0_conv2_weight'
    shape = [64, 64, 3, 3]
    dtype = 'torch.float32'
    device = 'cpu'
    mean = 0.0
    std = 0.041666666666666664
    min_val = None
    max_val = None
    data = None
    original_name = 'layer1.0.conv2.weight'

class Program_weight_tensor_meta_layer1_0_bn2_running_mean:
    name = 'layer1_0_bn2_running_mean'
    shape = [64]
    dtype = 'torch.float32'
    device = 'cpu'
    mean = 0.0
    std = 0.0
    min_val = 0.0
    max_val = 0.0
    data = None
    original_name = 'layer1.0.bn2.running_mean'

class Program_weight_tensor_meta_layer1_0_bn2_running_var:
    name = 'layer1_0_bn2_running_var'
    shape = [64]
    dtype = 'torch.float32'
    device = 'cpu'
    mean = 1.0
    std = 0.0
    min_val = 1.0
    max_val = 1.0
    data = None
    original_name = 'layer1.0.bn2.running_var'

class Program_weight_tensor_meta_layer1_0_bn2_weight:
    name = 'layer1_0_bn2_weight'
    shape = [64]
    dtype = 'torch.float32'
    device = 'cpu'
    mean = 1.0
    std = 0.0
    min_val = 1.0
    max_val = 1.0
    data = None
    original_name = 'layer1.0.bn2.weight'

class Program_weight_tensor_meta_layer1_0_bn2_bias:
    name = 'layer1_0_bn2_bias'
    shape = [64]
    dtype = 'torch.float32'
    device = 'cpu'
    mean = 0.0
    std = 0.0
    min_val = 0.0
    max_val = 0.0
    data = None
    original_name = 'layer1.0.bn2.bias'

class Program_weight_tensor_meta_layer1_1_conv1_weight:
    name = 'layer1_1_conv1_weight'
    shape = [64, 64, 3, 3]
    dtype = 'torch.float32'
    device = 'cpu'
    mean = 0.0
    std = 0.041666666666666664
    min_val = None
    max_val = None
    data = None
    original_name = 'layer1.1.conv1.weight'

class Program_weight_tensor_meta_layer1_1_bn1_running_mean:
    name = 'layer1_1_bn1_running_mean'
    shape = [64]
    dtype = 'torch.float32'
    device = 'cpu'
    mean = 0.0
    std = 0.0
    min_val = 0.0
    max_val = 0.0
    data = None
    original_name = 'layer1.1.bn1.running_mean'

class Program_weight_tensor_meta_layer1_1_bn1_running_var:
    name = 'layer1_1_bn1_running_var'
    shape = [64]
    dtype = 'torch.float32'
    device = 'cpu'
    mean = 1.0
    std = 0.0
    min_val = 1.0
    max_val = 1.0
    data = None
    original_name = 'layer1.1.bn1.running_var'

class Program_weight_tensor_meta_layer1_1_bn1_weight:
    name = 'layer1_1_bn1_weight'
    shape = [64]
    dtype = 'torch.float32'
    device = 'cpu'
    mean = 1.0
    std = 0.0
    min_val = 1.0
    max_val = 1.0
    data = None
    original_name = 'layer1.1.bn1.weight'

class Program_weight_tensor_meta_layer1_1_bn1_bias:
    name = 'layer1_1_bn1_bias'
    shape = [64]
    dtype = 'torch.float32'
    device = 'cpu'
    mean = 0.0
    std = 0.0
    min_val = 0.0
    max_val = 0.0
    data = None
    original_name = 'layer1.1.bn1.bias'
