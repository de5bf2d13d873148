class Program_weight_tensor_meta_layers_3_blocks_0_modulation_h_weight:
    name = 'layers_3_blocks_0_modulation_h_weight'
    shape = [768, 768, 1, 1]
    dtype = 'torch.float32'
    device = 'cpu'
    mean = 0.0
    std = 0.036084391824351615
    min_val = None
    max_val = None
    data = None
    original_name = 'layers.3.blocks.0.modulation.h.weight'

class Program_weight_tensor_meta_layers_3_blocks_0_modulation_h_bias:
    name = 'layers_3_blocks_0_modulation_h_bias'
    shape = [768]
    dtype = 'torch.float32'
    device = 'cpu'
    mean = 0.0
    std = 0.0
    min_val = 0.0
    max_val = 0.0
    data = None
    original_name = 'layers.3.blocks.0.modulation.h.bias'
