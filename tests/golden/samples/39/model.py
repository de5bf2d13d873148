import operator

import torch


class GraphModule(torch.nn.Module):
    def forward(self, in_18, stages_1_1_conv1_1x1_conv_weight, stages_1_1_conv1_1x1_bn_running_mean, stages_1_1_conv1_1x1_bn_running_var, stages_1_1_conv1_1x1_bn_weight, stages_1_1_conv1_1x1_bn_bias):
        conv2d_0 = torch.conv2d(in_18, stages_1_1_conv1_1x1_conv_weight, None, (1, 1), (0, 0), (1, 1), 1)
        batch_norm_1 = torch.nn.functional.batch_norm(conv2d_0, stages_1_1_conv1_1x1_bn_running_mean, stages_1_1_conv1_1x1_bn_running_var, weight=stages_1_1_conv1_1x1_bn_weight, bias=stages_1_1_conv1_1x1_bn_bias, training=False, momentum=0.1, eps=1e-05)
        silu__2 = torch.nn.functional.silu(batch_norm_1, inplace=True)
        return (silu__2,)
