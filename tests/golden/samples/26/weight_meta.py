class Program_weight_tensor_meta_stages_1_blocks_1_conv_se_fc1_weight:
    name = 'stages_1_blocks_1_conv_se_fc1_weight'
    shape = [32, 512, 1, 1]
    dtype = 'torch.float32'
    device = 'cpu'
    mean = 0.0
    std = 0.044194173824159216
    min_val = None
    max_val = None
    data = None
    original_name = 'stages.1.blocks.1.conv.se.fc1.weight'

class Program_weight_tensor_meta_stages_1_blocks_1_conv_se_fc1_bias:
    name = 'stages_1_blocks_1_conv_se_fc1_bias'
    shape = [32]
    dtype = 'torch.float32'
    device = 'cpu'
    mean = 0.0
    std = 0.0
    min_val = 0.0
    max_val = 0.0
    data = None
    original_name = 'stages.1.blocks.1.conv.se.fc1.bias'

class Program_weight_tensor_meta_stages_1_blocks_1_conv_se_fc2_weight:
    name = 'stages_1_blocks_1_conv_se_fc2_weight'
    shape = [512, 32, 1, 1]
    dtype = 'torch.float32'
    device = 'cpu'
    mean = 0.0
    std = 0.17677669529663687
    min_val = None
    max_val = None
    data = None
    original_name = 'stages.1.blocks.1.conv.se.fc2.weight'

class Program_weight_tensor_meta_stages_1_blocks_1_conv_se_fc2_bias:
    name = 'stages_1_blocks_1_conv_se_fc2_bias'
    shape = [512]
    dtype = 'torch.float32'
    device = 'cpu'
    mean = 0.0
    std = 0.0
    min_val = 0.0
    max_val = 0.0
    data = None
    original_name = 'stages.1.blocks.1.conv.se.fc2.bias'

class Program_weight_tensor_meta_stages_1_blocks_1_conv_conv3_1x1_weight:
    name = 'stages_1_blocks_1_conv_conv3_1x1_weight'
    shape = [128, 512, 1, 1]
    dtype = 'torch.float32'
    device = 'cpu'
    mean = 0.0
    std = 0.044194173824159216
    min_val = None
    max_val = None
    data = None
    original_name = 'stages.1.blocks.1.conv.conv3_1x1.weight'

class Program_weight_tensor_meta_stages_1_blocks_1_conv_conv3_1x1_bias:
    name = 'stages_1_blocks_1_conv_conv3_1x1_bias'
    shape = [128]
    dtype = 'torch.float32'
    device = 'cpu'
    mean = 0.0
    std = 0.0
    min_val = 0.0
    max_val = 0.0
    data = None
    original_name = 'stages.1.blocks.1.conv.conv3_1x1.bias'
