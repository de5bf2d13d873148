class Program_input_tensor_meta_in_257:
    name = 'in_257'
    shape = [1, 49, 768]
    dtype = 'torch.float32'
    device = 'cpu'
    mean = None
    std = None
    min_val = None
    max_val = None
    data = None
    original_name = ''
