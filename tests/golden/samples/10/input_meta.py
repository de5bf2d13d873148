class Program_input_tensor_meta_in_36:
    name = 'in_36'
    shape = [1, 256, 14, 14]
    dtype = 'torch.float32'
    device = 'cpu'
    mean = None
    std = None
    min_val = None
    max_val = None
    data = None
    original_name = ''

class Program_input_tensor_meta_in_33:
    name = 'in_33'
    shape = [1, 128, 28, 28]
    dtype = 'torch.float32'
    device = 'cpu'
    mean = None
    std = None
    min_val = None
    max_val = None
    data = None
    original_name = ''
