class Program_input_tensor_meta_in_284:
    name = 'in_284'
    shape = [1, 196, 196, 4]
    dtype = 'torch.float32'
    device = 'cpu'
    mean = None
    std = None
    min_val = None
    max_val = None
    data = None
    original_name = ''

class Program_input_tensor_meta_in_276:
    name = 'in_276'
    shape = [1, 4, 196, 48]
    dtype = 'torch.float32'
    device = 'cpu'
    mean = None
    std = None
    min_val = None
    max_val = None
    data = None
    original_name = ''
