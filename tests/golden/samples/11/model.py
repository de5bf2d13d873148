import operator

import torch


class GraphModule(torch.nn.Module):
    def forward(self, in_4, layer1_0_bn1_running_mean, layer1_0_bn1_running_var, layer1_0_bn1_weight, layer1_0_bn1_bias, layer1_0_conv2_weight, layer1_0_bn2_running_mean, layer1_0_bn2_running_var, layer1_0_bn2_weight, layer1_0_bn2_bias, in_3, layer1_1_conv1_weight, layer1_1_bn1_running_mean, layer1_1_bn1_running_var, layer1_1_bn1_weight, layer1_1_bn1_bias):
        batch_norm_0 = torch.nn.functional.batch_norm(in_4, layer1_0_bn1_running_mean, layer1_0_bn1_running_var, weight=layer1_0_bn1_weight, bias=layer1_0_bn1_bias, training=False, momentum=0.1, eps=1e-05)
        relu__1 = torch.nn.functional.relu(batch_norm_0, inplace=True)
        conv2d_2 = torch.conv2d(relu__1, layer1_0_conv2_weight, None, (1, 1), (1, 1), (1, 1), 1)
        batch_norm_3 = torch.nn.functional.batch_norm(conv2d_2, layer1_0_bn2_running_mean, layer1_0_bn2_running_var, weight=layer1_0_bn2_weight, bias=layer1_0_bn2_bias, training=False, momentum=0.1, eps=1e-05)
        add__4 = batch_norm_3.add_(in_3)
        relu__5 = torch.nn.functional.relu(add__4, inplace=True)
        conv2d_6 = torch.conv2d(relu__5, layer1_1_conv1_weight, None, (1, 1), (1, 1), (1, 1), 1)
        batch_norm_7 = torch.nn.functional.batch_norm(conv2d_6, layer1_1_bn1_running_mean, layer1_1_bn1_running_var, weight=layer1_1_bn1_weight, bias=layer1_1_bn1_bias, training=False, momentum=0.1, eps=1e-05)
        relu__8 = torch.nn.functional.relu(batch_norm_7, inplace=True)
        return (relu__5, relu__8,)
