import operator

import torch


class GraphModule(torch.nn.Module):
    def forward(self, in_122, blocks_4_0_se_conv_reduce_weight, blocks_4_0_se_conv_reduce_bias, blocks_4_0_se_conv_expand_weight, blocks_4_0_se_conv_expand_bias, in_121):
        conv2d_0 = torch.conv2d(in_122, blocks_4_0_se_conv_reduce_weight, blocks_4_0_se_conv_reduce_bias, (1, 1), (0, 0), (1, 1), 1)
        silu__1 = torch.nn.functional.silu(conv2d_0, inplace=True)
        conv2d_2 = torch.conv2d(silu__1, blocks_4_0_se_conv_expand_weight, blocks_4_0_se_conv_expand_bias, (1, 1), (0, 0), (1, 1), 1)
        sigmoid_3 = torch.sigmoid(conv2d_2)
        mul_4 = in_121.mul(sigmoid_3)
        return (mul_4,)
