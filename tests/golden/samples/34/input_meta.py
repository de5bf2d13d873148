class Program_input_tensor_meta_in_222:
    name = 'in_222'
    shape = [1, 1536, 768]
    dtype = 'torch.float32'
    device = 'cpu'
    mean = None
    std = None
    min_val = None
    max_val = None
    data = None
    original_name = ''

class Program_input_tensor_meta_in_221:
    name = 'in_221'
    shape = [1, 768, 12, 12]
    dtype = 'torch.float32'
    device = 'cpu'
    mean = None
    std = None
    min_val = None
    max_val = None
    data = None
    original_name = ''
