class Program_weight_tensor_meta_stages_3_1_conv_kxk_conv_weight:
    name = 'stages_3_1_conv_kxk_conv_weight'
    shape = [80, 80, 3, 3]
    dtype = 'torch.float32'
    device = 'cpu'
    mean = 0.0
    std = 0.037267799624996496
    min_val = None
    max_val = None
    data = None
    original_name = 'stages.3.1.conv_kxk.conv.weight'

class Program_weight_tensor_meta_stages_3_1_conv_kxk_bn_running_mean:
    name = 'stages_3_1_conv_kxk_bn_running_mean'
    shape = [80]
    dtype = 'torch.float32'
    device = 'cpu'
    mean = 0.0
    std = 0.0
    min_val = 0.0
    max_val = 0.0
    data = None
    original_name = 'stages.3.1.conv_kxk.bn.running_mean'

class Program_weight_tensor_meta_stages_3_1_conv_kxk_bn_running_var:
    name = 'stages_3_1_conv_kxk_bn_running_var'
    shape = [80]
    dtype = 'torch.float32'
    device = 'cpu'
    mean = 1.0
    std = 0.0
    min_val = 1.0
    max_val = 1.0
    data = None
    original_name = 'stages.3.1.conv_kxk.bn.running_var'

class Program_weight_tensor_meta_stages_3_1_conv_kxk_bn_weight:
    name = 'stages_3_1_conv_kxk_bn_weight'
    shape = [80]
    dtype = 'torch.float32'
    device = 'cpu'
    mean = 1.0
    std = 0.0
    min_val = 1.0
    max_val = 1.0
    data = None
    original_name = 'stages.3.1.conv_kxk.bn.weight'

class Program_weight_tensor_meta_stages_3_1_conv_kxk_bn_bias:
    name = 'stages_3_1_conv_kxk_bn_bias'
    shape = [80]
    dtype = 'torch.float32'
    device = 'cpu'
    mean = 0.0
    std = 0.0
    min_val = 0.0
    max_val = 0.0
    data = None
    original_name = 'stages.3.1.conv_kxk.bn.bias'

class Program_weight_tensor_meta_stages_3_1_conv_1x1_weight:
    name = 'stages_3_1_conv_1x1_weight'
    shape = [120, 80, 1, 1]
    dtype = 'torch.float32'
    device = 'cpu'
    mean = 0.0
    std = 0.11180339887498948
    min_val = None
    max_val = None
    data = None
    original_name = 'stages.3.1.conv_1x1.weight'

class Program_weight_tensor_meta_stages_3_1_transformer_0_norm1_weight:
    name = 'stages_3_1_transformer_0_norm1_weight'
    shape = [120]
    dtype = 'torch.float32'
    device = 'cpu'
    mean = 1.0
    std = 0.0
    min_val = 1.0
    max_val = 1.0
    data = None
    original_name = 'stages.3.1.transformer.0.norm1.weight'

class Program_weight_tensor_meta_stages_3_1_transformer_0_norm1_bias:
    name = 'stages_3_1_transformer_0_norm1_bias'
    shape = [120]
    dtype = 'torch.float32'
    device = 'cpu'
    mean = 0.0
    std = 0.0
    min_val = 0.0
    max_val = 0.0
    data = None
    original_name = 'stages.3.1.transformer.0.norm1.bias'

class Program_weight_tensor_meta_stages_3_1_transformer_0_attn_qkv_weight:
    name = 'stages_3_1_transformer_0_attn_qkv_weight'
    shape = [360, 120]
    dtype = 'torch.float32'
    device = 'cpu'
    mean = 0.0
    std = 0.09128709291752768
    min_val = None
    max_val = None
    data = None
    original_name = 'stages.3.1.transformer.0.attn.qkv.weight'

class Program_weight_tensor_meta_stages_3_1_transformer_0_attn_qkv_bias:
    name = 'stages_3_1_transformer_0_attn_qkv_bias'
    shape = [360]
    dtype = 'torch.float32'
    device = 'cpu'
    mean = 0.0
    std = 0.0
    min_val = 0.0
    max_val = 0.0
    data = None
    original_name = 'stages.3.1.transformer.0.attn.qkv.bias'
