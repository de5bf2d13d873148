class Program_input_tensor_meta_in_55:
    name = 'in_55'
    shape = [1, 257, 192]
    dtype = 'torch.float32'
    device = 'cpu'
    mean = None
    std = None
    min_val = None
    max_val = None
    data = None
    original_name = ''

class Program_input_tensor_meta_in_94:
    name = 'in_94'
    shape = [1, 257, 192]
    dtype = 'torch.float32'
    device = 'cpu'
    mean = None
    std = None
    min_val = None
    max_val = None
    data = None
    original_name = ''
