class Program_input_tensor_meta_in_122:
    name = 'in_122'
    shape = [1, 480, 1, 1]
    dtype = 'torch.float32'
    device = 'cpu'
    mean = None
    std = None
    min_val = None
    max_val = None
    data = None
    original_name = ''

class Program_input_tensor_meta_in_121:
    name = 'in_121'
    shape = [1, 480, 14, 14]
    dtype = 'torch.float32'
    device = 'cpu'
    mean = None
    std = None
    min_val = None
    max_val = None
    data = None
    original_name = ''
