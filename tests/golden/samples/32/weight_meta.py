class Program_weight_tensor_meta_stages_3_blocks_0_mlp_fc1_weight:
    name = 'stages_3_blocks_0_mlp_fc1_weight'
    shape = [1280, 320, 1, 1]
    dtype = 'torch.float32'
    device = 'cpu'
    mean = 0.0
    std = 0.05590169943749474
    min_val = None
    max_val = None
    data = None
    original_name = 'stages.3.blocks.0.mlp.fc1.weight'

class Program_weight_tensor_meta_stages_3_blocks_0_mlp_fc1_bias:
    name = 'stages_3_blocks_0_mlp_fc1_bias'
    shape = [1280]
    dtype = 'torch.float32'
    device = 'cpu'
    mean = 0.0
    std = 0.0
    min_val = 0.0
    max_val = 0.0
    data = None
    original_name = 'stages.3.blocks.0.mlp.fc1.bias'

class Program_weight_tensor_meta_stages_3_blocks_0_mlp_fc2_weight:
    name = 'stages_3_blocks_0_mlp_fc2_weight'
    shape = [320, 1280, 1, 1]
    dtype = 'torch.float32'
    device = 'cpu'
    mean = 0.0
    std = 0.02795084971874737
    min_val = None
    max_val = None
    data = None
    original_name = 'stages.3.blocks.0.mlp.fc2.weight'

class Program_weight_tensor_meta_stages_3_blocks_0_mlp_fc2_bias:
    name = 'stages_3_blocks_0_mlp_fc2_bias'
    shape = [320]
    dtype = 'torch.float32'
    device = 'cpu'
    mean = 0.0
    std = 0.0
    min_val = 0.0
    max_val = 0.0
    data = None
    original_name = 'stages.3.blocks.0.mlp.fc2.bias'

class Program_weight_tensor_meta_stages_3_blocks_0_gamma:
    name = 'stages_3_blocks_0_gamma'
    shape = [320]
    dtype = 'torch.float32'
    device = 'cpu'
    mean = 0.0
    std = 0.02
    min_val = None
    max_val = None
    data = None
    original_name = 'stages.3.blocks.0.gamma'
