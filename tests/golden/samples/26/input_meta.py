class Program_input_tensor_meta_in_242:
    name = 'in_242'
    shape = [1, 512, 28, 28]
    dtype = 'torch.float32'
    device = 'cpu'
    mean = None
    std = None
    min_val = None
    max_val = None
    data = None
    original_name = ''

class Program_input_tensor_meta_in_236:
    name = 'in_236'
    shape = [1, 128, 28, 28]
    dtype = 'torch.float32'
    device = 'cpu'
    mean = None
    std = None
    min_val = None
    max_val = None
    data = None
    original_name = ''
