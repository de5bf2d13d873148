class Program_input_tensor_meta_in_71:
    name = 'in_71'
    shape = [1, 197, 192]
    dtype = 'torch.float32'
    device = 'cpu'
    mean = None
    std = None
    min_val = None
    max_val = None
    data = None
    original_name = ''

class Program_input_tensor_meta_in_77:
    name = 'in_77'
    shape = [1, 197, 192]
    dtype = 'torch.float32'
    device = 'cpu'
    mean = None
    std = None
    min_val = None
    max_val = None
    data = None
    original_name = ''
