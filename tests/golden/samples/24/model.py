import operator

import torch


class GraphModule(torch.nn.Module):
    def forward(self, in_9, in_53, blocks_0_norm1_weight, blocks_0_norm1_bias, blocks_0_attn_qkv_weight, blocks_0_attn_qkv_bias):
        add_0 = in_9.add(in_53)
        dropout_1 = torch.nn.functional.dropout(add_0, p=0.0, training=False, inplace=False)
        layer_norm_2 = torch.nn.functional.layer_norm(dropout_1, (128,), weight=blocks_0_norm1_weight, bias=blocks_0_norm1_bias, eps=1e-06)
        linear_3 = torch.nn.functional.linear(layer_norm_2, blocks_0_attn_qkv_weight, blocks_0_attn_qkv_bias)
        reshape_4 = linear_3.reshape(1, 784, 3, 4, 32)
        permute_5 = reshape_4.permute(2, 0, 3, 4, 1)
        return (dropout_1, permute_5,)
