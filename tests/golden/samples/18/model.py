import operator

import torch


class GraphModule(torch.nn.Module):
    def forward(self, in_84, stages_2_1_self_attn_pos_embed_height_rel):
        transpose_0 = in_84.transpose(1, 2)
        transpose_1 = stages_2_1_self_attn_pos_embed_height_rel.transpose(-1, -2)
        matmul_2 = transpose_0.matmul(transpose_1)
        reshape_3 = matmul_2.reshape(-1, 8, 23)
        pad_4 = torch.nn.functional.pad(reshape_3, [0, 1], mode='constant', value=None)
        flatten_5 = pad_4.flatten(1)
        pad_6 = torch.nn.functional.pad(flatten_5, [0, 15], mode='constant', value=None)
        reshape_7 = pad_6.reshape(-1, 9, 23)
        getitem_8 = reshape_7[:, :8, 11:]
        reshape_9 = getitem_8.reshape(32, 8, 1, 8, 12)
        expand_10 = reshape_9.expand(-1, -1, 12, -1, -1)
        return (expand_10,)
