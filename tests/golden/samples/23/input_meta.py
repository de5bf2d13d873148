class Program_input_tensor_meta_in_308:
    name = 'in_308'
    shape = [1, 14, 14, 384]
    dtype = 'torch.float32'
    device = 'cpu'
    mean = None
    std = None
    min_val = None
    max_val = None
    data = None
    original_name = ''

class Program_input_tensor_meta_in_314:
    name = 'in_314'
    shape = [1, 14, 14, 384]
    dtype = 'torch.float32'
    device = 'cpu'
    mean = None
    std = None
    min_val = None
    max_val = None
    data = None
    original_name = ''
