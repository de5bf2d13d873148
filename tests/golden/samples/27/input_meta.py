class Program_input_tensor_meta_in_720:
    name = 'in_720'
    shape = [16, 7, 7, 13]
    dtype = 'torch.float32'
    device = 'cpu'
    mean = None
    std = None
    min_val = None
    max_val = None
    data = None
    original_name = ''

class Program_input_tensor_meta_in_719_0:
    name = 'in_719_0'
    shape = [1, 16, 49, 32]
    dtype = 'torch.float32'
    device = 'cpu'
    mean = None
    std = None
    min_val = None
    max_val = None
    data = None
    original_name = ''

class Program_input_tensor_meta_in_719_1:
    name = 'in_719_1'
    shape = [1, 16, 49, 32]
    dtype = 'torch.float32'
    device = 'cpu'
    mean = None
    std = None
    min_val = None
    max_val = None
    data = None
    original_name = ''

class Program_input_tensor_meta_in_719_2:
    name = 'in_719_2'
    shape = [1, 16, 49, 32]
    dtype = 'torch.float32'
    device = 'cpu'
    mean = None
    std = None
    min_val = None
    max_val = None
    data = None
    original_name = ''
