class Program_weight_tensor_meta_stages_2_1_conv3_gain:
    name = 'stages_2_1_conv3_gain'
    shape = [1536, 1, 1, 1]
    dtype = 'torch.float32'
    device = 'cpu'
    mean = 0.0
    std = 0.02
    min_val = None
    max_val = None
    data = None
    original_name = 'stages.2.1.conv3.gain'

class Program_weight_tensor_meta_stages_2_1_conv3_weight:
    name = 'stages_2_1_conv3_weight'
    shape = [1536, 768, 1, 1]
    dtype = 'torch.float32'
    device = 'cpu'
    mean = 0.0
    std = 0.036084391824351615
    min_val = None
    max_val = None
    data = None
    original_name = 'stages.2.1.conv3.weight'

class Program_weight_tensor_meta_stages_2_1_conv3_bias:
    name = 'stages_2_1_conv3_bias'
    shape = [1536]
    dtype = 'torch.float32'
    device = 'cpu'
    mean = 0.0
    std = 0.0
    min_val = 0.0
    max_val = 0.0
    data = None
    original_name = 'stages.2.1.conv3.bias'

class Program_weight_tensor_meta_stages_2_1_attn_last_fc1_weight:
    name = 'stages_2_1_attn_last_fc1_weight'
    shape = [768, 1536, 1, 1]
    dtype = 'torch.float32'
    device = 'cpu'
    mean = 0.0
    std = 0.025515518153991442
    min_val = None
    max_val = None
    data = None
    original_name = 'stages.2.1.attn_last.fc1.weight'

class Program_weight_tensor_meta_stages_2_1_attn_last_fc1_bias:
    name = 'stages_2_1_attn_last_fc1_bias'
    shape = [768]
    dtype = 'torch.float32'
    device = 'cpu'
    mean = 0.0
    std = 0.0
    min_val = 0.0
    max_val = 0.0
    data = None
    original_name = 'stages.2.1.attn_last.fc1.bias'

class Program_weight_tensor_meta_stages_2_1_attn_last_fc2_weight:
    name = 'stages_2_1_attn_last_fc2_weight'
    shape = [1536, 768, 1, 1]
    dtype = 'torch.float32'
    device = 'cpu'
    mean = 0.0
    std = 0.036084391824351615
    min_val = None
    max_val = None
    data = None
    original_name = 'stages.2.1.attn_last.fc2.weight'

class Program_weight_tensor_meta_stages_2_1_attn_last_fc2_bias:
    name = 'stages_2_1_attn_last_fc2_bias'
    shape = [1536]
    dtype = 'torch.float32'
    device = 'cpu'
    mean = 0.0
    std = 0.0
    min_val = 0.0
    max_val = 0.0
    data = None
    original_name = 'stages.2.1.attn_last.fc2.bias'
