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
