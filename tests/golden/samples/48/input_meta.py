class Program_input_tensor_meta_in_23:
    name = 'in_23'
    shape = [1, 96, 56, 56]
    dtype = 'torch.float32'
    device = 'cpu'
    mean = None
    std = None
    min_val = None
    max_val = None
    data = None
    original_name = ''

class Program_input_tensor_meta_in_8_0:
    name = 'in_8_0'
    shape = [1, 96, 56, 56]
    dtype = 'torch.float32'
    device = 'cpu'
    mean = None
    std = None
    min_val = None
    max_val = None
    data = None
    original_name = ''

class Program_input_tensor_meta_in_3:
    name = 'in_3'
    shape = [1, 96, 56, 56]
    dtype = 'torch.float32'
    device = 'cpu'
    mean = None
    std = None
    min_val = None
    max_val = None
    data = None
    original_name = ''
