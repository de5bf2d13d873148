class Program_weight_tensor_meta_stages_2_1_self_attn_pos_embed_height_rel:
    name = 'stages_2_1_self_attn_pos_embed_height_rel'
    shape = [23, 32]
    dtype = 'torch.float32'
    device = 'cpu'
    mean = 0.0
    std = 0.02
    min_val = None
    max_val = None
    data = None
    original_name = 'stages.2.1.self_attn.pos_embed.height_rel'
