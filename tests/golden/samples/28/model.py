import operator

import torch


class GraphModule(torch.nn.Module):
    def forward(self, in_57, stages_0_blocks_0_attn_qkv_weight, stages_0_blocks_0_attn_qkv_bias):
        view_0 = in_57.view(-1, 49, 64)
        linear_1 = torch.nn.functional.linear(view_0, stages_0_blocks_0_attn_qkv_weight, stages_0_blocks_0_attn_qkv_bias)
        reshape_2 = linear_1.reshape(64, 49, 3, 2, 32)
        return (reshape_2,)
