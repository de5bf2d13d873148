class Program_input_tensor_meta_in_245:
    name = 'in_245'
    shape = [1, 16, 16, 192]
    dtype = 'torch.float32'
    device = 'cpu'
    mean = None
    std = None
    min_val = None
    max_val = None
    data = None
    original_name = ''

class Program_input_tensor_meta_in_250:
    name = 'in_250'
    shape = [1, 16, 16, 192]
    dtype = 'torch.float32'
    device = 'cpu'
    mean = None
    std = None
    min_val = None
    max_val = None
    data = None
    original_name = ''

class Program_input_tensor_meta_in_237:
    name = 'in_237'
    shape = [1, 16, 16, 384]
    dtype = 'torch.float32'
    device = 'cpu'
    mean = None
    std = None
    min_val = None
    max_val = None
    data = None
    original_name = ''
