class Program_input_tensor_meta_input_ids:
    name = "input_ids"
    shape = [1, 4]
    dtype = "torch.int64"
    device = "cuda:0"
    mean = 0.0
    std = 1.0
    data = [0, 3, 9, 1]

class Program_input_tensor_meta_mask:
    name = "mask"
    shape = [1, 4]
    dtype = "torch.bool"
    device = "cuda:0"
    mean = 0.0
    std = 1.0
    data = [True, True, False, True]

