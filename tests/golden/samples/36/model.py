import operator

import torch


class GraphModule(torch.nn.Module):
    def forward(self, in_176, blocks_1_blocks_0_0_attn_proj_weight, blocks_1_blocks_0_0_attn_proj_bias, in_143, blocks_1_blocks_0_0_norm2_weight, blocks_1_blocks_0_0_norm2_bias):
        reshape_0 = in_176.reshape(1, 401, 3, 3, 32)
        permute_1 = reshape_0.permute(2, 0, 3, 1, 4)
        unbind_2 = permute_1.unbind(0)
        scaled_dot_product_attention_3 = torch.nn.functional.scaled_dot_product_attention(unbind_2[0], unbind_2[1], unbind_2[2], attn_mask=None, dropout_p=0.0, is_causal=False)
        transpose_4 = scaled_dot_product_attention_3.transpose(1, 2)
        reshape_5 = transpose_4.reshape(1, 401, 96)
        linear_6 = torch.nn.functional.linear(reshape_5, blocks_1_blocks_0_0_attn_proj_weight, blocks_1_blocks_0_0_attn_proj_bias)
        dropout_7 = torch.nn.functional.dropout(linear_6, p=0.0, training=False, inplace=False)
        add_8 = in_143.add(dropout_7)
        layer_norm_9 = torch.nn.functional.layer_norm(add_8, (96,), weight=blocks_1_blocks_0_0_norm2_weight, bias=blocks_1_blocks_0_0_norm2_bias, eps=1e-06)
        return (add_8, layer_norm_9,)
