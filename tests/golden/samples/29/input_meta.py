class Program_input_tensor_meta_in_577:
    name = 'in_577'
    shape = [2401, 16]
    dtype = 'torch.float32'
    device = 'cpu'
    mean = None
    std = None
    min_val = None
    max_val = None
    data = None
    original_name = ''

class Program_input_tensor_meta_in_576:
    name = 'in_576'
    shape = [1, 16, 49, 49]
    dtype = 'torch.float32'
    device = 'cpu'
    mean = None
    std = None
    min_val = None
    max_val = None
    data = None
    original_name = ''

class Program_input_tensor_meta_in_572_2:
    name = 'in_572_2'
    shape = [1, 16, 49, 32]
    dtype = 'torch.float32'
    device = 'cpu'
    mean = None
    std = None
    min_val = None
    max_val = None
    data = None
    original_name = ''
