class Program_weight_tensor_meta_stages_2_blocks_1_attn_qkv_bn_running_mean:
    name = 'stages_2_blocks_1_attn_qkv_bn_running_mean'
    shape = [768]
    dtype = 'torch.float32'
    device = 'cpu'
    mean = 0.0
    std = 0.0
    min_val = 0.0
    max_val = 0.0
    data = None
    original_name = 'stages.2.blocks.1.attn.qkv.bn.running_mean'

class Program_weight_tensor_meta_stages_2_blocks_1_attn_qkv_bn_running_var:
    name = 'stages_2_blocks_1_attn_qkv_bn_running_var'
    shape = [768]
    dtype = 'torch.float32'
    device = 'cpu'
    mean = 1.0
    std = 0.0
    min_val = 1.0
    max_val = 1.0
    data = None
    original_name = 'stages.2.blocks.1.attn.qkv.bn.running_var'

class Program_weight_tensor_meta_stages_2_blocks_1_attn_qkv_bn_weight:
    name = 'stages_2_blocks_1_attn_qkv_bn_weight'
    shape = [768]
    dtype = 'torch.float32'
    device = 'cpu'
    mean = 1.0
    std = 0.0
    min_val = 1.0
    max_val = 1.0
    data = None
    original_name = 'stages.2.blocks.1.attn.qkv.bn.weight'

class Program_weight_tensor_meta_stages_2_blocks_1_attn_qkv_bn_bias:
    name = 'stages_2_blocks_1_attn_qkv_bn_bias'
    shape = [768]
    dtype = 'torch.float32'
    device = 'cpu'
    mean = 0.0
    std = 0.0
    min_val = 0.0
    max_val = 0.0
    data = None
    original_name = 'stages.2.blocks.1.attn.qkv.bn.bias'

class Program_weight_tensor_meta_stages_2_blocks_1_attn_attention_biases:
    name = 'stages_2_blocks_1_attn_attention_biases'
    shape = [12, 16]
    dtype = 'torch.float32'
    device = 'cpu'
    mean = 0.0
    std = 0.02
    min_val = None
    max_val = None
    data = None
    original_name = 'stages.2.blocks.1.attn.attention_biases'

class Program_weight_tensor_meta_stages_2_blocks_1_attn_attention_bias_idxs:
    name = 'stages_2_blocks_1_attn_attention_bias_idxs'
    shape = [16, 16]
    dtype = 'torch.int64'
    device = 'cpu'
    mean = None
    std = None
    min_val = None
    max_val = None
    data = None
    original_name = 'stages.2.blocks.1.attn.attention_bias_idxs'
