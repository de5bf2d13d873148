class Program_input_tensor_meta_in_365:
    name = 'in_365'
    shape = [1, 768, 7, 7]
    dtype = 'torch.float32'
    device = 'cpu'
    mean = None
    std = None
    min_val = None
    max_val = None
    data = None
    original_name = ''

class Program_input_tensor_meta_in_369:
    name = 'in_369'
    shape = [1, 768, 7, 7]
    dtype = 'torch.float32'
    device = 'cpu'
    mean = None
    std = None
    min_val = None
    max_val = None
    data = None
    original_name = ''

class Program_input_tensor_meta_in_367:
    name = 'in_367'
    shape = [1, 768, 7, 7]
    dtype = 'torch.float32'
    device = 'cpu'
    mean = None
    std = None
    min_val = None
    max_val = None
    data = None
    original_name = ''

class Program_input_tensor_meta_in_360_2:
    name = 'in_360_2'
    shape = [1, 3, 7, 7]
    dtype = 'torch.float32'
    device = 'cpu'
    mean = None
    std = None
    min_val = None
    max_val = None
    data = None
    original_name = ''

class Program_input_tensor_meta_in_360_0:
    name = 'in_360_0'
    shape = [1, 768, 7, 7]
    dtype = 'torch.float32'
    device = 'cpu'
    mean = None
    std = None
    min_val = None
    max_val = None
    data = None
    original_name = ''
