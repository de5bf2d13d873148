class Program_input_tensor_meta_in_401:
    name = 'in_401'
    shape = [1, 16, 768]
    dtype = 'torch.float32'
    device = 'cpu'
    mean = None
    std = None
    min_val = None
    max_val = None
    data = None
    original_name = ''
