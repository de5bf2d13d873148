class Program_input_tensor_meta_in_139:
    name = 'in_139'
    shape = [1, 320, 7, 7]
    dtype = 'torch.float32'
    device = 'cpu'
    mean = None
    std = None
    min_val = None
    max_val = None
    data = None
    original_name = ''
