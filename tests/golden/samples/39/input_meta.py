class Program_input_tensor_meta_in_18:
    name = 'in_18'
    shape = [1, 48, 64, 64]
    dtype = 'torch.float32'
    device = 'cpu'
    mean = None
    std = None
    min_val = None
    max_val = None
    data = None
    original_name = ''
