class Program_weight_tensor_meta_stages_2_blocks_3_rnn_tokens_fc_weight:
    name = 'stages_2_blocks_3_rnn_tokens_fc_weight'
    shape = [384, 384]
    dtype = 'torch.float32'
    device = 'cpu'
    mean = 0.0
    std = 0.051031036307982884
    min_val = None
    max_val = None
    data = None
    original_name = 'stages.2.blocks.3.rnn_tokens.fc.weight'

class Program_weight_tensor_meta_stages_2_blocks_3_rnn_tokens_fc_bias:
    name = 'stages_2_blocks_3_rnn_tokens_fc_bias'
    shape = [384]
    dtype = 'torch.float32'
    device = 'cpu'
    mean = 0.0
    std = 0.0
    min_val = 0.0
    max_val = 0.0
    data = None
    original_name = 'stages.2.blocks.3.rnn_tokens.fc.bias'

class Program_weight_tensor_meta_stages_2_blocks_3_norm2_weight:
    name = 'stages_2_blocks_3_norm2_weight'
    shape = [384]
    dtype = 'torch.float32'
    device = 'cpu'
    mean = 1.0
    std = 0.0
    min_val = 1.0
    max_val = 1.0
    data = None
    original_name = 'stages.2.blocks.3.norm2.weight'

class Program_weight_tensor_meta_stages_2_blocks_3_norm2_bias:
    name = 'stages_2_blocks_3_norm2_bias'
    shape = [384]
    dtype = 'torch.float32'
    device = 'cpu'
    mean = 0.0
    std = 0.0
    min_val = 0.0
    max_val = 0.0
    data = None
    original_name = 'stages.2.blocks.3.norm2.bias'

class Program_weight_tensor_meta_stages_2_blocks_3_mlp_channels_fc1_weight:
    name = 'stages_2_blocks_3_mlp_channels_fc1_weight'
    shape = [1152, 384]
    dtype = 'torch.float32'
    device = 'cpu'
    mean = 0.0
    std = 0.051031036307982884
    min_val = None
    max_val = None
    data = None
    original_name = 'stages.2.blocks.3.mlp_channels.fc1.weight'

class Program_weight_tensor_meta_stages_2_blocks_3_mlp_channels_fc1_bias:
    name = 'stages_2_blocks_3_mlp_channels_fc1_bias'
    shape = [1152]
    dtype = 'torch.float32'
    device = 'cpu'
    mean = 0.0
    std = 0.0
    min_val = 0.0
    max_val = 0.0
    data = None
    original_name = 'stages.2.blocks.3.mlp_channels.fc1.bias'

class Program_weight_tensor_meta_stages_2_blocks_3_mlp_channels_fc2_weight:
    name = 'stages_2_blocks_3_mlp_channels_fc2_weight'
    shape = [384, 1152]
    dtype = 'torch.float32'
    device = 'cpu'
    mean = 0.0
    std = 0.029462782549439483
    min_val = None
    max_val = None
    data = None
    original_name = 'stages.2.blocks.3.mlp_channels.fc2.weight'

class Program_weight_tensor_meta_stages_2_blocks_3_mlp_channels_fc2_bias:
    name = 'stages_2_blocks_3_mlp_channels_fc2_bias'
    shape = [384]
    dtype = 'torch.float32'
    device = 'cpu'
    mean = 0.0
    std = 0.0
    min_val = 0.0
    max_val = 0.0
    data = None
    original_name = 'stages.2.blocks.3.mlp_channels.fc2.bias'

class Program_weight_tensor_meta_stages_2_blocks_4_norm1_weight:
    name = 'stages_2_blocks_4_norm1_weight'
    shape = [384]
    dtype = 'torch.float32'
    device = 'cpu'
    mean = 1.0
    std = 0.0
    min_val = 1.0
    max_val = 1.0
    data = None
    original_name = 'stages.2.blocks.4.norm1.weight'

class Program_weight_tensor_meta_stages_2_blocks_4_norm1_bias:
    name = 'stages_2_blocks_4_norm1_bias'
    shape = [384]
    dtype = 'torch.float32'
    device = 'cpu'
    mean = 0.0
    std = 0.0
    min_val = 0.0
    max_val = 0.0
    data = None
    original_name = 'stages.2.blocks.4.norm1.bias'
