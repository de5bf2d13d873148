import operator

import torch


class GraphModule(torch.nn.Module):
    def forward(self, in_720, stages_3_blocks_0_attn_block_attn_rel_pos_width_lookup, in_719_0, in_719_1, in_719_2, stages_3_blocks_0_attn_block_attn_proj_weight, stages_3_blocks_0_attn_block_attn_proj_bias):
        einsum_0 = torch.einsum('nixw,jyw->nijxy', in_720, stages_3_blocks_0_attn_block_attn_rel_pos_width_lookup)
        reshape_1 = einsum_0.reshape(16, 49, 49)
        scaled_dot_product_attention_2 = torch.nn.functional.scaled_dot_product_attention(in_719_0, in_719_1, in_719_2, attn_mask=reshape_1, dropout_p=0.0)
        transpose_3 = scaled_dot_product_attention_2.transpose(1, 2)
        reshape_4 = transpose_3.reshape((1, 7, 7, -1))
        linear_5 = torch.nn.functional.linear(reshape_4, stages_3_blocks_0_attn_block_attn_proj_weight, stages_3_blocks_0_attn_block_attn_proj_bias)
        dropout_6 = torch.nn.functional.dropout(linear_5, p=0.0, training=False, inplace=False)
        view_7 = dropout_6.view(-1, 1, 1, 7, 7, 512)
        permute_8 = view_7.permute(0, 1, 3, 2, 4, 5)
        return (permute_8,)
