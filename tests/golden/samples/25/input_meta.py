class Program_input_tensor_meta_in_450:
    name = 'in_450'
    shape = [1, 784, 128]
    dtype = 'torch.float32'
    device = 'cpu'
    mean = None
    std = None
    min_val = None
    max_val = None
    data = None
    original_name = ''
