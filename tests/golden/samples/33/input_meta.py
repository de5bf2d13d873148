class Program_input_tensor_meta_in_144:
    name = 'in_144'
    shape = [1, 320, 7, 7]
    dtype = 'torch.float32'
    device = 'cpu'
    mean = None
    std = None
    min_val = None
    max_val = None
    data = None
    original_name = ''

class Program_input_tensor_meta_in_135:
    name = 'in_135'
    shape = [1, 320, 7, 7]
    dtype = 'torch.float32'
    device = 'cpu'
    mean = None
    std = None
    min_val = None
    max_val = None
    data = None
    original_name = ''
