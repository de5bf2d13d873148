import operator

import torch


class GraphModule(torch.nn.Module):
    def forward(self, stages_2_1_conv3_gain, in_222, stages_2_1_conv3_weight, in_221, stages_2_1_conv3_bias, stages_2_1_attn_last_fc1_weight, stages_2_1_attn_last_fc1_bias, stages_2_1_attn_last_fc2_weight, stages_2_1_attn_last_fc2_bias):
        mul_0 = stages_2_1_conv3_gain.mul(0.06139774964572216)
        view_1 = mul_0.view(-1)
        batch_norm_2 = torch.nn.functional.batch_norm(in_222, None, None, weight=view_1, bias=None, training=True, momentum=0.0, eps=1e-05)
        reshape_as_3 = batch_norm_2.reshape_as(stages_2_1_conv3_weight)
        conv2d_4 = torch.conv2d(in_221, reshape_as_3, stages_2_1_conv3_bias, (1, 1), (0, 0), (1, 1), 1)
        mean_5 = conv2d_4.mean((2, 3), keepdim=True)
        conv2d_6 = torch.conv2d(mean_5, stages_2_1_attn_last_fc1_weight, stages_2_1_attn_last_fc1_bias, (1, 1), (0, 0), (1, 1), 1)
        relu__7 = torch.nn.functional.relu(conv2d_6, inplace=True)
        conv2d_8 = torch.conv2d(relu__7, stages_2_1_attn_last_fc2_weight, stages_2_1_attn_last_fc2_bias, (1, 1), (0, 0), (1, 1), 1)
        sigmoid_9 = conv2d_8.sigmoid()
        mul_10 = conv2d_4.mul(sigmoid_9)
        mul_11 = mul_10.mul(2.0)
        return (mul_11,)
