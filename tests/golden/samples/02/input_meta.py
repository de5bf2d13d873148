class Program_input_tensor_meta_x:
    name = 'x'
    shape = [2, 6, 4, 4]
    dtype = 'torch.float32'
    device = 'cpu'
    mean = 0.0
    std = 1.0
    min_val = None
    max_val = None
    data = None
    original_name = 'x'
