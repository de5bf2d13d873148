import operator

import torch


class GraphModule(torch.nn.Module):
    def forward(self, in_454, blocks_2_fusion_0_attn_proj_weight, blocks_2_fusion_0_attn_proj_bias, in_435, blocks_2_revert_projs_0_0_weight, blocks_2_revert_projs_0_0_bias, blocks_2_revert_projs_0_2_weight, blocks_2_revert_projs_0_2_bias, in_352):
        linear_0 = torch.nn.functional.linear(in_454, blocks_2_fusion_0_attn_proj_weight, blocks_2_fusion_0_attn_proj_bias)
        dropout_1 = torch.nn.functional.dropout(linear_0, p=0.0, training=False, inplace=False)
        add_2 = in_435.add(dropout_1)
        getitem_3 = add_2[:, 0:1, ...]
        layer_norm_4 = torch.nn.functional.layer_norm(getitem_3, (192,), weight=blocks_2_revert_projs_0_0_weight, bias=blocks_2_revert_projs_0_0_bias, eps=1e-06)
        gelu_5 = torch.nn.functional.gelu(layer_norm_4, approximate='none')
        linear_6 = torch.nn.functional.linear(gelu_5, blocks_2_revert_projs_0_2_weight, blocks_2_revert_projs_0_2_bias)
        getitem_7 = in_352[:, 1:, ...]
        cat_8 = torch.cat((linear_6, getitem_7), dim=1)
        return (cat_8,)
