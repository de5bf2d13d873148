class Program_weight_tensor_meta_x:
    name = "x"
    shape = [2, 4]
    dtype = "torch.float32"
    device = "cuda:0"
    mean = nan
    std = float('nan')
    data = None
    min_val = -inf
    max_val = float("inf")


class Program_weight_tensor_meta_y:
    name = "y"
    shape = [4]
    dtype = "torch.float32"
    device = "cuda:0"
    mean = float('-inf')
    std = None
    data = [nan, inf, -inf, float('nan')]

