import operator

import torch


class GraphModule(torch.nn.Module):
    def forward(self, in_403, blocks_12_attn_proj_l_weight, blocks_12_attn_proj_l_bias, blocks_12_attn_proj_w_weight, blocks_12_attn_proj_w_bias):
        permute_0 = in_403.permute(2, 0, 3, 1, 4)
        getitem_1 = permute_0[0]
        mul_2 = getitem_1.mul(0.14433756729740643)
        getitem_3 = permute_0[1]
        getitem_4 = permute_0[2]
        transpose_5 = getitem_3.transpose(-2, -1)
        matmul_6 = mul_2.matmul(transpose_5)
        permute_7 = matmul_6.permute(0, 2, 3, 1)
        linear_8 = torch.nn.functional.linear(permute_7, blocks_12_attn_proj_l_weight, blocks_12_attn_proj_l_bias)
        permute_9 = linear_8.permute(0, 3, 1, 2)
        softmax_10 = permute_9.softmax(dim=-1)
        permute_11 = softmax_10.permute(0, 2, 3, 1)
        linear_12 = torch.nn.functional.linear(permute_11, blocks_12_attn_proj_w_weight, blocks_12_attn_proj_w_bias)
        permute_13 = linear_12.permute(0, 3, 1, 2)
        return (getitem_4, permute_13,)
