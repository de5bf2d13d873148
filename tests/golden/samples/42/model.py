import operator

import torch


class GraphModule(torch.nn.Module):
    def forward(self, in_582, blocks_11_attn_proj_weight, blocks_11_attn_proj_bias, in_545, blocks_11_norm2_weight, blocks_11_norm2_bias, blocks_11_mlp_fc1_weight, blocks_11_mlp_fc1_bias, blocks_11_mlp_fc2_weight, blocks_11_mlp_fc2_bias):
        linear_0 = torch.nn.functional.linear(in_582, blocks_11_attn_proj_weight, blocks_11_attn_proj_bias)
        dropout_1 = torch.nn.functional.dropout(linear_0, p=0.0, training=False, inplace=False)
        add_2 = in_545.add(dropout_1)
        layer_norm_3 = torch.nn.functional.layer_norm(add_2, (192,), weight=blocks_11_norm2_weight, bias=blocks_11_norm2_bias, eps=1e-06)
        linear_4 = torch.nn.functional.linear(layer_norm_3, blocks_11_mlp_fc1_weight, blocks_11_mlp_fc1_bias)
        chunk_5 = linear_4.chunk(2, dim=-1)
        silu_6 = torch.nn.functional.silu(chunk_5[0], inplace=False)
        mul_7 = silu_6.mul(chunk_5[1])
        dropout_8 = torch.nn.functional.dropout(mul_7, p=0.0, training=False, inplace=False)
        linear_9 = torch.nn.functional.linear(dropout_8, blocks_11_mlp_fc2_weight, blocks_11_mlp_fc2_bias)
        dropout_10 = torch.nn.functional.dropout(linear_9, p=0.0, training=False, inplace=False)
        add_11 = add_2.add(dropout_10)
        getitem_12 = add_11[:, 1:]
        return (getitem_12,)
