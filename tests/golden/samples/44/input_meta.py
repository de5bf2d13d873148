class Program_input_tensor_meta_in_403:
    name = 'in_403'
    shape = [1, 196, 3, 4, 48]
    dtype = 'torch.float32'
    device = 'cpu'
    mean = None
    std = None
    min_val = None
    max_val = None
    data = None
    original_name = ''
