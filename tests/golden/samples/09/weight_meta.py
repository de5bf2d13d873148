class Program_weight_tensor_meta_weight:
    name = 'weight'
    shape = [2, 6, 4, 4]
    dtype = 'torch.float32'
    device = 'cpu'
    mean = 0.1
    std = float('nan')
    min_val = None
    max_val = None
    data = None
    original_name = 'layer.weight'
