import operator

import torch


class GraphModule(torch.nn.Module):
    def forward(self, in_242, stages_1_blocks_1_conv_se_fc1_weight, stages_1_blocks_1_conv_se_fc1_bias, stages_1_blocks_1_conv_se_fc2_weight, stages_1_blocks_1_conv_se_fc2_bias, stages_1_blocks_1_conv_conv3_1x1_weight, stages_1_blocks_1_conv_conv3_1x1_bias, in_236):
        gelu_0 = torch.nn.functional.gelu(in_242, approximate='tanh')
        mean_1 = gelu_0.mean((2, 3), keepdim=True)
        conv2d_2 = torch.conv2d(mean_1, stages_1_blocks_1_conv_se_fc1_weight, stages_1_blocks_1_conv_se_fc1_bias, (1, 1), (0, 0), (1, 1), 1)
        silu__3 = torch.nn.functional.silu(conv2d_2, inplace=True)
        conv2d_4 = torch.conv2d(silu__3, stages_1_blocks_1_conv_se_fc2_weight, stages_1_blocks_1_conv_se_fc2_bias, (1, 1), (0, 0), (1, 1), 1)
        sigmoid_5 = conv2d_4.sigmoid()
        mul_6 = gelu_0.mul(sigmoid_5)
        conv2d_7 = torch.conv2d(mul_6, stages_1_blocks_1_conv_conv3_1x1_weight, stages_1_blocks_1_conv_conv3_1x1_bias, (1, 1), (0, 0), (1, 1), 1)
        add_8 = conv2d_7.add(in_236)
        permute_9 = add_8.permute(0, 2, 3, 1)
        return (permute_9,)
