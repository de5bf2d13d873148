import operator

import torch


class GraphModule(torch.nn.Module):
    def forward(self, in_12, blocks_0_0_bn2_running_mean, blocks_0_0_bn2_running_var, blocks_0_0_bn2_weight, blocks_0_0_bn2_bias, blocks_1_0_conv_pw_weight, blocks_1_0_bn1_running_mean, blocks_1_0_bn1_running_var, blocks_1_0_bn1_weight, blocks_1_0_bn1_bias, blocks_1_0_conv_dw_weight, blocks_1_0_bn2_running_mean, blocks_1_0_bn2_running_var, blocks_1_0_bn2_weight, blocks_1_0_bn2_bias):
        batch_norm_0 = torch.nn.functional.batch_norm(in_12, blocks_0_0_bn2_running_mean, blocks_0_0_bn2_running_var, weight=blocks_0_0_bn2_weight, bias=blocks_0_0_bn2_bias, training=False, momentum=0.1, eps=1e-05)
        conv2d_1 = torch.conv2d(batch_norm_0, blocks_1_0_conv_pw_weight, None, (1, 1), (0, 0), (1, 1), 1)
        batch_norm_2 = torch.nn.functional.batch_norm(conv2d_1, blocks_1_0_bn1_running_mean, blocks_1_0_bn1_running_var, weight=blocks_1_0_bn1_weight, bias=blocks_1_0_bn1_bias, training=False, momentum=0.1, eps=1e-05)
        silu__3 = torch.nn.functional.silu(batch_norm_2, inplace=True)
        conv2d_4 = torch.conv2d(silu__3, blocks_1_0_conv_dw_weight, None, (2, 2), (1, 1), (1, 1), 96)
        batch_norm_5 = torch.nn.functional.batch_norm(conv2d_4, blocks_1_0_bn2_running_mean, blocks_1_0_bn2_running_var, weight=blocks_1_0_bn2_weight, bias=blocks_1_0_bn2_bias, training=False, momentum=0.1, eps=1e-05)
        return (batch_norm_5,)
