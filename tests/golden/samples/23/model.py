import operator

import torch


class GraphModule(torch.nn.Module):
    def forward(self, in_308, in_314, network_3_6_norm1_weight, network_3_6_norm1_bias, network_3_6_attn_qkv_weight, network_3_6_attn_proj_weight, network_3_6_attn_proj_bias):
        add_0 = in_308.add(in_314)
        layer_norm_1 = torch.nn.functional.layer_norm(add_0, (384,), weight=network_3_6_norm1_weight, bias=network_3_6_norm1_bias, eps=1e-05)
        linear_2 = torch.nn.functional.linear(layer_norm_1, network_3_6_attn_qkv_weight, None)
        reshape_3 = linear_2.reshape(1, 196, 3, 12, 32)
        permute_4 = reshape_3.permute(2, 0, 3, 1, 4)
        unbind_5 = permute_4.unbind(0)
        scaled_dot_product_attention_6 = torch.nn.functional.scaled_dot_product_attention(unbind_5[0], unbind_5[1], unbind_5[2], dropout_p=0.0)
        transpose_7 = scaled_dot_product_attention_6.transpose(1, 2)
        reshape_8 = transpose_7.reshape(1, 14, 14, 384)
        linear_9 = torch.nn.functional.linear(reshape_8, network_3_6_attn_proj_weight, network_3_6_attn_proj_bias)
        dropout_10 = torch.nn.functional.dropout(linear_9, p=0.0, training=False, inplace=False)
        add_11 = add_0.add(dropout_10)
        return (add_11,)
