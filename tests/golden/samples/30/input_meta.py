class Program_input_tensor_meta_in_255:
    name = 'in_255'
    shape = [1, 16, 16, 1152]
    dtype = 'torch.float32'
    device = 'cpu'
    mean = None
    std = None
    min_val = None
    max_val = None
    data = None
    original_name = ''
