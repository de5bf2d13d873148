class Program_weight_tensor_meta_layers_1_blocks_1_mlp_fc2_weight:
    name = 'layers_1_blocks_1_mlp_fc2_weight'
    shape = [192, 768]
    dtype = 'torch.float32'
    device = 'cpu'
    mean = 0.0
    std = 0.036084391824351615
    min_val = None
    max_val = None
    data = None
    original_name = 'layers.1.blocks.1.mlp.fc2.weight'

class Program_weight_tensor_meta_layers_1_blocks_1_mlp_fc2_bias:
    name = 'layers_1_blocks_1_mlp_fc2_bias'
    shape = [192]
    dtype = 'torch.float32'
    device = 'cpu'
    mean = 0.0
    std = 0.0
    min_val = 0.0
    max_val = 0.0
    data = None
    original_name = 'layers.1.blocks.1.mlp.fc2.bias'

class Program_weight_tensor_meta_layers_2_downsample_norm_weight:
    name = 'layers_2_downsample_norm_weight'
    shape = [768]
    dtype = 'torch.float32'
    device = 'cpu'
    mean = 1.0
    std = 0.0
    min_val = 1.0
    max_val = 1.0
    data = None
    original_name = 'layers.2.downsample.norm.weight'

class Program_weight_tensor_meta_layers_2_downsample_norm_bias:
    name = 'layers_2_downsample_norm_bias'
    shape = [768]
    dtype = 'torch.float32'
    device = 'cpu'
    mean = 0.0
    std = 0.0
    min_val = 0.0
    max_val = 0.0
    data = None
    original_name = 'layers.2.downsample.norm.bias'

class Program_weight_tensor_meta_layers_2_downsample_reduction_weight:
    name = 'layers_2_downsample_reduction_weight'
    shape = [384, 768]
    dtype = 'torch.float32'
    device = 'cpu'
    mean = 0.0
    std = 0.036084391824351615
    min_val = None
    max_val = None
    data = None
    original_name = 'layers.2.downsample.reduction.weight'

class Program_weight_tensor_meta_layers_2_blocks_0_norm1_weight:
    name = 'layers_2_blocks_0_norm1_weight'
    shape = [384]
    dtype = 'torch.float32'
    device = 'cpu'
    mean = 1.0
    std = 0.0
    min_val = 1.0
    max_val = 1.0
    data = None
    original_name = 'layers.2.blocks.0.norm1.weight'

class Program_weight_tensor_meta_layers_2_blocks_0_norm1_bias:
    name = 'layers_2_blocks_0_norm1_bias'
    shape = [384]
    dtype = 'torch.float32'
    device = 'cpu'
    mean = 0.0
    std = 0.0
    min_val = 0.0
    max_val = 0.0
    data = None
    original_name = 'layers.2.blocks.0.norm1.bias'
