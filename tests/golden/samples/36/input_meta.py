class Program_input_tensor_meta_in_176:
    name = 'in_176'
    shape = [1, 401, 288]
    dtype = 'torch.float32'
    device = 'cpu'
    mean = None
    std = None
    min_val = None
    max_val = None
    data = None
    original_name = ''

class Program_input_tensor_meta_in_143:
    name = 'in_143'
    shape = [1, 401, 96]
    dtype = 'torch.float32'
    device = 'cpu'
    mean = None
    std = None
    min_val = None
    max_val = None
    data = None
    original_name = ''
