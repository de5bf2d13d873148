import operator

import torch


class GraphModule(torch.nn.Module):
    def forward(self, stages_0_0_conv2_weight, stages_0_0_conv2_gain, in_41, stages_0_0_conv2_bias, stages_0_0_conv2b_weight, stages_0_0_conv2b_gain, stages_0_0_conv2b_bias):
        reshape_0 = stages_0_0_conv2_weight.reshape(1, 128, -1)
        mul_1 = stages_0_0_conv2_gain.mul(0.050131052662388646)
        view_2 = mul_1.view(-1)
        batch_norm_3 = torch.nn.functional.batch_norm(reshape_0, None, None, weight=view_2, bias=None, training=True, momentum=0.0, eps=1e-05)
        reshape_as_4 = batch_norm_3.reshape_as(stages_0_0_conv2_weight)
        conv2d_5 = torch.conv2d(in_41, reshape_as_4, stages_0_0_conv2_bias, (1, 1), (1, 1), (1, 1), 1)
        gelu_6 = torch.nn.functional.gelu(conv2d_5)
        reshape_7 = stages_0_0_conv2b_weight.reshape(1, 128, -1)
        mul_8 = stages_0_0_conv2b_gain.mul(0.050131052662388646)
        view_9 = mul_8.view(-1)
        batch_norm_10 = torch.nn.functional.batch_norm(reshape_7, None, None, weight=view_9, bias=None, training=True, momentum=0.0, eps=1e-05)
        reshape_as_11 = batch_norm_10.reshape_as(stages_0_0_conv2b_weight)
        conv2d_12 = torch.conv2d(gelu_6, reshape_as_11, stages_0_0_conv2b_bias, (1, 1), (1, 1), (1, 1), 1)
        gelu_13 = torch.nn.functional.gelu(conv2d_12)
        return (gelu_13,)
