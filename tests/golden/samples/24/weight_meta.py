class Program_weight_tensor_meta_blocks_0_norm1_weight:
    name = 'blocks_0_norm1_weight'
    shape = [128]
    dtype = 'torch.float32'
    device = 'cpu'
    mean = 1.0
    std = 0.0
    min_val = 1.0
    max_val = 1.0
    data = None
    original_name = 'blocks.0.norm1.weight'

class Program_weight_tensor_meta_blocks_0_norm1_bias:
    name = 'blocks_0_norm1_bias'
    shape = [128]
    dtype = 'torch.float32'
    device = 'cpu'
    mean = 0.0
    std = 0.0
    min_val = 0.0
    max_val = 0.0
    data = None
    original_name = 'blocks.0.norm1.bias'

class Program_weight_tensor_meta_blocks_0_attn_qkv_weight:
    name = 'blocks_0_attn_qkv_weight'
    shape = [384, 128]
    dtype = 'torch.float32'
    device = 'cpu'
    mean = 0.0
    std = 0.08838834764831843
    min_val = None
    max_val = None
    data = None
    original_name = 'blocks.0.attn.qkv.weight'

class Program_weight_tensor_meta_blocks_0_attn_qkv_bias:
    name = 'blocks_0_attn_qkv_bias'
    shape = [384]
    dtype = 'torch.float32'
    device = 'cpu'
    mean = 0.0
    std = 0.0
    min_val = 0.0
    max_val = 0.0
    data = None
    original_name = 'blocks.0.attn.qkv.bias'
