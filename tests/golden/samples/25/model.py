import operator

import torch


class GraphModule(torch.nn.Module):
    def forward(self, in_450, blocks_10_attn_proj_weight, blocks_10_attn_proj_bias, blocks_10_gamma1):
        linear_0 = torch.nn.functional.linear(in_450, blocks_10_attn_proj_weight, blocks_10_attn_proj_bias)
        dropout_1 = torch.nn.functional.dropout(linear_0, p=0.0, training=False, inplace=False)
        mul_2 = blocks_10_gamma1.mul(dropout_1)
        return (mul_2,)
