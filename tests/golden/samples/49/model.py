import operator

import torch


class GraphModule(torch.nn.Module):
    def forward(self, in_365, in_369, in_367, in_360_2, layers_3_blocks_0_modulation_h_weight, layers_3_blocks_0_modulation_h_bias, in_360_0):
        add_0 = in_365.add(in_369)
        mean_1 = in_367.mean((2, 3), keepdim=True)
        gelu_2 = torch.nn.functional.gelu(mean_1, approximate='none')
        getitem_3 = in_360_2[:, 2:]
        mul_4 = gelu_2.mul(getitem_3)
        add_5 = add_0.add(mul_4)
        conv2d_6 = torch.conv2d(add_5, layers_3_blocks_0_modulation_h_weight, layers_3_blocks_0_modulation_h_bias, (1, 1), (0, 0), (1, 1), 1)
        mul_7 = in_360_0.mul(conv2d_6)
        return (mul_7,)
