class Program_input_tensor_meta_in_9:
    name = 'in_9'
    shape = [1, 784, 128]
    dtype = 'torch.float32'
    device = 'cpu'
    mean = None
    std = None
    min_val = None
    max_val = None
    data = None
    original_name = ''

class Program_input_tensor_meta_in_53:
    name = 'in_53'
    shape = [1, 784, 128]
    dtype = 'torch.float32'
    device = 'cpu'
    mean = None
    std = None
    min_val = None
    max_val = None
    data = None
    original_name = ''
