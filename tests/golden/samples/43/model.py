import operator

import torch


class GraphModule(torch.nn.Module):
    def forward(self, in_55, in_94, blocks_1_norm2_weight, blocks_1_norm2_bias, blocks_1_mlp_fc1_weight, blocks_1_mlp_fc1_bias, blocks_1_mlp_fc2_weight, blocks_1_mlp_fc2_bias, blocks_2_norm1_weight, blocks_2_norm1_bias, blocks_2_attn_q_bias, blocks_2_attn_k_bias, blocks_2_attn_v_bias, blocks_2_attn_qkv_weight):
        add_0 = in_55.add(in_94)
        layer_norm_1 = torch.nn.functional.layer_norm(add_0, (192,), weight=blocks_1_norm2_weight, bias=blocks_1_norm2_bias, eps=1e-06)
        linear_2 = torch.nn.functional.linear(layer_norm_1, blocks_1_mlp_fc1_weight, blocks_1_mlp_fc1_bias)
        chunk_3 = linear_2.chunk(2, dim=-1)
        silu_4 = torch.nn.functional.silu(chunk_3[0], inplace=False)
        mul_5 = silu_4.mul(chunk_3[1])
        dropout_6 = torch.nn.functional.dropout(mul_5, p=0.0, training=False, inplace=False)
        linear_7 = torch.nn.functional.linear(dropout_6, blocks_1_mlp_fc2_weight, blocks_1_mlp_fc2_bias)
        dropout_8 = torch.nn.functional.dropout(linear_7, p=0.0, training=False, inplace=False)
        add_9 = add_0.add(dropout_8)
        layer_norm_10 = torch.nn.functional.layer_norm(add_9, (192,), weight=blocks_2_norm1_weight, bias=blocks_2_norm1_bias, eps=1e-06)
        cat_11 = torch.cat((blocks_2_attn_q_bias, blocks_2_attn_k_bias, blocks_2_attn_v_bias))
        linear_12 = torch.nn.functional.linear(layer_norm_10, weight=blocks_2_attn_qkv_weight, bias=cat_11)
        reshape_13 = linear_12.reshape(1, 257, 3, 3, -1)
        return (add_9, reshape_13,)
