class Program_input_tensor_meta_in_197:
    name = 'in_197'
    shape = [1, 784, 768]
    dtype = 'torch.float32'
    device = 'cpu'
    mean = None
    std = None
    min_val = None
    max_val = None
    data = None
    original_name = ''

class Program_input_tensor_meta_in_194:
    name = 'in_194'
    shape = [1, 784, 192]
    dtype = 'torch.float32'
    device = 'cpu'
    mean = None
    std = None
    min_val = None
    max_val = None
    data = None
    original_name = ''
