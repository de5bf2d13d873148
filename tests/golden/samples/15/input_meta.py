class Program_input_tensor_meta_in_26:
    name = 'in_26'
    shape = [64, 3, 49, 32]
    dtype = 'torch.float32'
    device = 'cpu'
    mean = None
    std = None
    min_val = None
    max_val = None
    data = None
    original_name = ''
