class Program_input_tensor_meta_in_41:
    name = 'in_41'
    shape = [1, 128, 48, 48]
    dtype = 'torch.float32'
    device = 'cpu'
    mean = None
    std = None
    min_val = None
    max_val = None
    data = None
    original_name = ''
