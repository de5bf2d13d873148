class Program_input_tensor_meta_in_219:
    name = 'in_219'
    shape = [3, 1, 8, 196, 96]
    dtype = 'torch.float32'
    device = 'cpu'
    mean = None
    std = None
    min_val = None
    max_val = None
    data = None
    original_name = ''
