class Program_weight_tensor_meta_blocks_0_0_bn2_running_mean:
    name = 'blocks_0_0_bn2_running_mean'
    shape = [16]
    dtype = 'torch.float32'
    device = 'cpu'
    mean = 0.0
    std = 0.0
    min_val = 0.0
    max_val = 0.0
    data = None
    original_name = 'blocks.0.0.bn2.running_mean'

class Program_weight_tensor_meta_blocks_0_0_bn2_running_var:
    name = 'blocks_0_0_bn2_running_var'
    shape = [16]
    dtype = 'torch.float32'
    device = 'cpu'
    mean = 1.0
    std = 0.0
    min_val = 1.0
    max_val = 1.0
    data = None
    original_name = 'blocks.0.0.bn2.running_var'

class Program_weight_tensor_meta_blocks_0_0_bn2_weight:
    name = 'blocks_0_0_bn2_weight'
    shape = [16]
    dtype = 'torch.float32'
    device = 'cpu'
    mean = 1.0
    std = 0.0
    min_val = 1.0
    max_val = 1.0
    data = None
    original_name = 'blocks.0.0.bn2.weight'

class Program_weight_tensor_meta_blocks_0_0_bn2_bias:
    name = 'blocks_0_0_bn2_bias'
    shape = [16]
    dtype = 'torch.float32'
    device = 'cpu'
    mean = 0.0
    std = 0.0
    min_val = 0.0
    max_val = 0.0
    data = None
    original_name = 'blocks.0.0.bn2.bias'

class Program_weight_tensor_meta_blocks_1_0_conv_pw_weight:
    name = 'blocks_1_0_conv_pw_weight'
    shape = [96, 16, 1, 1]
    dtype = 'torch.float32'
    device = 'cpu'
    mean = 0.0
    std = 0.25
    min_val = None
    max_val = None
    data = None
    original_name = 'blocks.1.0.conv_pw.weight'

class Program_weight_tensor_meta_blocks_1_0_bn1_running_mean:
    name = 'blocks_1_0_bn1_running_mean'
    shape = [96]
    dtype = 'torch.float32'
    device = 'cpu'
    mean = 0.0
    std = 0.0
    min_val = 0.0
    max_val = 0.0
    data = None
    original_name = 'blocks.1.0.bn1.running_mean'

class Program_weight_tensor_meta_blocks_1_0_bn1_running_var:
    name = 'blocks_1_0_bn1_running_var'
    shape = [96]
    dtype = 'torch.float32'
    device = 'cpu'
    mean = 1.0
    std = 0.0
    min_val = 1.0
    max_val = 1.0
    data = None
    original_name = 'blocks.1.0.bn1.running_var'

class Program_weight_tensor_meta_blocks_1_0_bn1_weight:
    name = 'blocks_1_0_bn1_weight'
    shape = [96]
    dtype = 'torch.float32'
    device = 'cpu'
    mean = 1.0
    std = 0.0
    min_val = 1.0
    max_val = 1.0
    data = None
    original_name = 'blocks.1.0.bn1.weight'

class Program_weight_tensor_meta_blocks_1_0_bn1_bias:
    name = 'blocks_1_0_bn1_bias'
    shape = [96]
    dtype = 'torch.float32'
    device = 'cpu'
    mean = 0.0
    std = 0.0
    min_val = 0.0
    max_val = 0.0
    data = None
    original_name = 'blocks.1.0.bn1.bias'

class Program_weight_tensor_meta_blocks_1_0_conv_dw_weight:
    name = 'blocks_1_0_conv_dw_weight'
    shape = [96, 1, 3, 3]
    dtype = 'torch.float32'
    device = 'cpu'
    mean = 0.0
    std = 0.3333333333333333
    min_val = None
    max_val = None
    data = None
    original_name = 'blocks.1.0.conv_dw.weight'

class Program_weight_tensor_meta_blocks_1_0_bn2_running_mean:
    name = 'blocks_1_0_bn2_running_mean'
    shape = [96]
    dtype = 'torch.float32'
    device = 'cpu'
    mean = 0.0
    std = 0.0
    min_val = 0.0
    max_val = 0.0
    data = None
    original_name = 'blocks.1.0.bn2.running_mean'

class Program_weight_tensor_meta_blocks_1_0_bn2_running_var:
    name = 'blocks_1_0_bn2_running_var'
    shape = [96]
    dtype = 'torch.float32'
    device = 'cpu'
    mean = 1.0
    std = 0.0
    min_val = 1.0
    max_val = 1.0
    data = None
    original_name = 'blocks.1.0.bn2.running_var'

class Program_weight_tensor_meta_blocks_1_0_bn2_weight:
    name = 'blocks_1_0_bn2_weight'
    shape = [96]
    dtype = 'torch.float32'
    device = 'cpu'
    mean = 1.0
    std = 0.0
    min_val = 1.0
    max_val = 1.0
    data = None
    original_name = 'blocks.1.0.bn2.weight'

class Program_weight_tensor_meta_blocks_1_0_bn2_bias:
    name = 'blocks_1_0_bn2_bias'
    shape = [96]
    dtype = 'torch.float32'
    device = 'cpu'
    mean = 0.0
    std = 0.0
    min_val = 0.0
    max_val = 0.0
    data = None
    original_name = 'blocks.1.0.bn2.bias'
