class Program_input_tensor_meta_in_111:
    name = 'in_111'
    shape = [1, 80, 16, 16]
    dtype = 'torch.float32'
    device = 'cpu'
    mean = None
    std = None
    min_val = None
    max_val = None
    data = None
    original_name = ''
