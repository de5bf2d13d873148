import operator

import torch


class GraphModule(torch.nn.Module):
    def forward(self, in_26, layers_0_blocks_0_attn_proj_weight, layers_0_blocks_0_attn_proj_bias):
        transpose_0 = in_26.transpose(1, 2)
        reshape_1 = transpose_0.reshape(64, 49, -1)
        linear_2 = torch.nn.functional.linear(reshape_1, layers_0_blocks_0_attn_proj_weight, layers_0_blocks_0_attn_proj_bias)
        dropout_3 = torch.nn.functional.dropout(linear_2, p=0.0, training=False, inplace=False)
        return (dropout_3,)
