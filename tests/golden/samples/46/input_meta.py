class Program_input_tensor_meta_in_69:
    name = 'in_69'
    shape = [1, 512, 256]
    dtype = 'torch.float32'
    device = 'cpu'
    mean = None
    std = None
    min_val = None
    max_val = None
    data = None
    original_name = ''

class Program_input_tensor_meta_in_66:
    name = 'in_66'
    shape = [1, 49, 512]
    dtype = 'torch.float32'
    device = 'cpu'
    mean = None
    std = None
    min_val = None
    max_val = None
    data = None
    original_name = ''
