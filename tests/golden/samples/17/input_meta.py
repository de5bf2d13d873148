class Program_input_tensor_meta_in_12:
    name = 'in_12'
    shape = [1, 16, 112, 112]
    dtype = 'torch.float32'
    device = 'cpu'
    mean = None
    std = None
    min_val = None
    max_val = None
    data = None
    original_name = ''
