import operator

import torch


class GraphModule(torch.nn.Module):
    def forward(self, in_23, layers_0_blocks_0_modulation_h_weight, layers_0_blocks_0_modulation_h_bias, in_8_0, layers_0_blocks_0_modulation_proj_weight, layers_0_blocks_0_modulation_proj_bias, in_3, layers_0_blocks_0_norm2_weight, layers_0_blocks_0_norm2_bias):
        conv2d_0 = torch.conv2d(in_23, layers_0_blocks_0_modulation_h_weight, layers_0_blocks_0_modulation_h_bias, (1, 1), (0, 0), (1, 1), 1)
        mul_1 = in_8_0.mul(conv2d_0)
        conv2d_2 = torch.conv2d(mul_1, layers_0_blocks_0_modulation_proj_weight, layers_0_blocks_0_modulation_proj_bias, (1, 1), (0, 0), (1, 1), 1)
        dropout_3 = torch.nn.functional.dropout(conv2d_2, p=0.0, training=False, inplace=False)
        add_4 = in_3.add(dropout_3)
        permute_5 = add_4.permute(0, 2, 3, 1)
        layer_norm_6 = torch.nn.functional.layer_norm(permute_5, (96,), weight=layers_0_blocks_0_norm2_weight, bias=layers_0_blocks_0_norm2_bias, eps=1e-05)
        return (add_4, layer_norm_6,)
