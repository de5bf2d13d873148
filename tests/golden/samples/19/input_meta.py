class Program_input_tensor_meta_in_130:
    name = 'in_130'
    shape = [8, 64, 16, 4]
    dtype = 'torch.float32'
    device = 'cpu'
    mean = None
    std = None
    min_val = None
    max_val = None
    data = None
    original_name = ''

class Program_input_tensor_meta_in_126:
    name = 'in_126'
    shape = [1, 512, 16, 16]
    dtype = 'torch.float32'
    device = 'cpu'
    mean = None
    std = None
    min_val = None
    max_val = None
    data = None
    original_name = ''
