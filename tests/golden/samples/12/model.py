import operator

import torch


class GraphModule(torch.nn.Module):
    def forward(self, in_71, in_77, blocks_4_norm1_weight, blocks_4_norm1_bias, blocks_4_attn_qkv_weight, blocks_4_attn_qkv_bias, blocks_4_attn_proj_weight, blocks_4_attn_proj_bias, blocks_4_norm2_weight, blocks_4_norm2_bias, blocks_4_mlp_fc1_weight, blocks_4_mlp_fc1_bias):
        add_0 = in_71.add(in_77)
        layer_norm_1 = torch.nn.functional.layer_norm(add_0, (192,), weight=blocks_4_norm1_weight, bias=blocks_4_norm1_bias, eps=1e-06)
        linear_2 = torch.nn.functional.linear(layer_norm_1, blocks_4_attn_qkv_weight, blocks_4_attn_qkv_bias)
        reshape_3 = linear_2.reshape(1, 197, 3, 3, 64)
        permute_4 = reshape_3.permute(2, 0, 3, 1, 4)
        unbind_5 = permute_4.unbind(0)
        scaled_dot_product_attention_6 = torch.nn.functional.scaled_dot_product_attention(unbind_5[0], unbind_5[1], unbind_5[2], attn_mask=None, dropout_p=0.0, is_causal=False)
        transpose_7 = scaled_dot_product_attention_6.transpose(1, 2)
        reshape_8 = transpose_7.reshape(1, 197, 192)
        linear_9 = torch.nn.functional.linear(reshape_8, blocks_4_attn_proj_weight, blocks_4_attn_proj_bias)
        dropout_10 = torch.nn.functional.dropout(linear_9, p=0.0, training=False, inplace=False)
        add_11 = add_0.add(dropout_10)
        layer_norm_12 = torch.nn.functional.layer_norm(add_11, (192,), weight=blocks_4_norm2_weight, bias=blocks_4_norm2_bias, eps=1e-06)
        linear_13 = torch.nn.functional.linear(layer_norm_12, blocks_4_mlp_fc1_weight, blocks_4_mlp_fc1_bias)
        return (add_11, linear_13,)
