class Program_input_tensor_meta_in_195:
    name = 'in_195'
    shape = [1, 197, 192]
    dtype = 'torch.float32'
    device = 'cpu'
    mean = None
    std = None
    min_val = None
    max_val = None
    data = None
    original_name = ''

class Program_input_tensor_meta_in_186:
    name = 'in_186'
    shape = [1, 197, 192]
    dtype = 'torch.float32'
    device = 'cpu'
    mean = None
    std = None
    min_val = None
    max_val = None
    data = None
    original_name = ''
