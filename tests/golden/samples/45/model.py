import operator

import torch


class GraphModule(torch.nn.Module):
    def forward(self, in_284, in_276, blocks_8_attn_proj_weight, blocks_8_attn_proj_bias):
        permute_0 = in_284.permute(0, 3, 1, 2)
        dropout_1 = torch.nn.functional.dropout(permute_0, p=0.0, training=False, inplace=False)
        matmul_2 = dropout_1.matmul(in_276)
        transpose_3 = matmul_2.transpose(1, 2)
        reshape_4 = transpose_3.reshape(1, 196, 192)
        linear_5 = torch.nn.functional.linear(reshape_4, blocks_8_attn_proj_weight, blocks_8_attn_proj_bias)
        dropout_6 = torch.nn.functional.dropout(linear_5, p=0.0, training=False, inplace=False)
        return (dropout_6,)
