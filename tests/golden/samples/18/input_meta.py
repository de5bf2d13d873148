class Program_input_tensor_meta_in_84:
    name = 'in_84'
    shape = [32, 8, 8, 32]
    dtype = 'torch.float32'
    device = 'cpu'
    mean = None
    std = None
    min_val = None
    max_val = None
    data = None
    original_name = ''
