class Program_weight_tensor_meta_blocks_4_0_se_conv_reduce_weight:
    name = 'blocks_4_0_se_conv_reduce_weight'
    shape = [20, 480, 1, 1]
    dtype = 'torch.float32'
    device = 'cpu'
    mean = 0.0
    std = 0.04564354645876384
    min_val = None
    max_val = None
    data = None
    original_name = 'blocks.4.0.se.conv_reduce.weight'

class Program_weight_tensor_meta_blocks_4_0_se_conv_reduce_bias:
    name = 'blocks_4_0_se_conv_reduce_bias'
    shape = [20]
    dtype = 'torch.float32'
    device = 'cpu'
    mean = 0.0
    std = 0.0
    min_val = 0.0
    max_val = 0.0
    data = None
    original_name = 'blocks.4.0.se.conv_reduce.bias'

class Program_weight_tensor_meta_blocks_4_0_se_conv_expand_weight:
    name = 'blocks_4_0_se_conv_expand_weight'
    shape = [480, 20, 1, 1]
    dtype = 'torch.float32'
    device = 'cpu'
    mean = 0.0
    std = 0.22360679774997896
    min_val = None
    max_val = None
    data = None
    original_name = 'blocks.4.0.se.conv_expand.weight'

class Program_weight_tensor_meta_blocks_4_0_se_conv_expand_bias:
    name = 'blocks_4_0_se_conv_expand_bias'
    shape = [480]
    dtype = 'torch.float32'
    device = 'cpu'
    mean = 0.0
    std = 0.0
    min_val = 0.0
    max_val = 0.0
    data = None
    original_name = 'blocks.4.0.se.conv_expand.bias'
