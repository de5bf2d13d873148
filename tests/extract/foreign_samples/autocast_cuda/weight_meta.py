class Program_weight_tensor_meta_x:
    name = "x"
    shape = [2, 4]
    dtype = "torch.float32"
    device = "cuda:0"
    mean = 0.0
    std = 1.0
    data = None


class Program_weight_tensor_meta_w:
    name = "w"
    shape = [3, 4]
    dtype = "torch.float32"
    device = "cuda:0"
    mean = 0.0
    std = 1.0
    data = None

