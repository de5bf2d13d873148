class Program_weight_tensor_meta_s0:
    name = "s0"
    shape = []
    dtype = "torch.int64"
    device = "cpu"
    mean = None
    std = None
    data = [2]


class Program_weight_tensor_meta_L_x_:
    name = "L_x_"
    shape = [2, 4]
    dtype = "torch.float32"
    device = "cuda:0"
    mean = 0.0
    std = 1.0
    data = None

