class Program_weight_tensor_meta_p_embed_weight:
    name = "p_embed_weight"
    shape = [10, 3]
    dtype = "torch.float32"
    device = "cuda:0"
    mean = 0.0
    std = 1.0
    data = None

