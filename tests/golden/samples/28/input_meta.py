class Program_input_tensor_meta_in_57:
    name = 'in_57'
    shape = [64, 7, 7, 64]
    dtype = 'torch.float32'
    device = 'cpu'
    mean = None
    std = None
    min_val = None
    max_val = None
    data = None
    original_name = ''
