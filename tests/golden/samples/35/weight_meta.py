class Program_weight_tensor_meta_stages_0_0_conv2_weight:
    name = 'stages_0_0_conv2_weight'
    shape = [128, 128, 3, 3]
    dtype = 'torch.float32'
    device = 'cpu'
    mean = 0.0
    std = 0.029462782549439483
    min_val = None
    max_val = None
    data = None
    original_name = 'stages.0.0.conv2.weight'

class Program_weight_tensor_meta_stages_0_0_conv2_gain:
    name = 'stages_0_0_conv2_gain'
    shape = [128, 1, 1, 1]
    dtype = 'torch.float32'
    device = 'cpu'
    mean = 0.0
    std = 0.02
    min_val = None
    max_val = None
    data = None
    original_name = 'stages.0.0.conv2.gain'

class Program_weight_tensor_meta_stages_0_0_conv2_bias:
    name = 'stages_0_0_conv2_bias'
    shape = [128]
    dtype = 'torch.float32'
    device = 'cpu'
    mean = 0.0
    std = 0.0
    min_val = 0.0
    max_val = 0.0
    data = None
    original_name = 'stages.0.0.conv2.bias'

class Program_weight_tensor_meta_stages_0_0_conv2b_weight:
    name = 'stages_0_0_conv2b_weight'
    shape = [128, 128, 3, 3]
    dtype = 'torch.float32'
    device = 'cpu'
    mean = 0.0
    std = 0.029462782549439483
    min_val = None
    max_val = None
    data = None
    original_name = 'stages.0.0.conv2b.weight'

class Program_weight_tensor_meta_stages_0_0_conv2b_gain:
    name = 'stages_0_0_conv2b_gain'
    shape = [128, 1, 1, 1]
    dtype = 'torch.float32'
    device = 'cpu'
    mean = 0.0
    std = 0.02
    min_val = None
    max_val = None
    data = None
    original_name = 'stages.0.0.conv2b.gain'

class Program_weight_tensor_meta_stages_0_0_conv2b_bias:
    name = 'stages_0_0_conv2b_bias'
    shape = [128]
    dtype = 'torch.float32'
    device = 'cpu'
    mean = 0.0
    std = 0.0
    min_val = 0.0
    max_val = 0.0
    data = None
    original_name = 'stages.0.0.conv2b.bias'
