class Program_weight_tensor_meta_x:
    name = "x"
    shape = [1, 3, 8, 8]
    dtype = "torch.float32"
    device = "cuda:0"
    mean = 0.0
    std = 1.0
    data = None


class Program_weight_tensor_meta_weight:
    name = "weight"
    shape = [4, 3, 3, 3]
    dtype = "torch.float32"
    device = "cuda:0"
    mean = 0.0
    std = 1.0
    data = None


class Program_weight_tensor_meta_running_mean:
    name = "running_mean"
    shape = [4]
    dtype = "torch.float32"
    device = "cuda:0"
    mean = 0.0
    std = 1.0
    data = [
        0.0,
        0.1,
        0.2,
        0.3,
    ]


class Program_weight_tensor_meta_running_var:
    name = "running_var"
    shape = [4]
    dtype = "torch.float32"
    device = "cuda:0"
    mean = 0.0
    std = 1.0
    data = [
        0.0,
        0.1,
        0.2,
        0.3,
    ]


class Program_weight_tensor_meta_bn_weight:
    name = "bn_weight"
    shape = [4]
    dtype = "torch.float32"
    device = "cuda:0"
    mean = 0.0
    std = 1.0
    data = [
        0.0,
        0.1,
        0.2,
        0.3,
    ]


class Program_weight_tensor_meta_bn_bias:
    name = "bn_bias"
    shape = [4]
    dtype = "torch.float32"
    device = "cuda:0"
    mean = 0.0
    std = 1.0
    data = [
        0.0,
        0.1,
        0.2,
        0.3,
    ]

