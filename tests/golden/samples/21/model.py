import operator

import torch


class GraphModule(torch.nn.Module):
    def forward(self, in_503, head_dist_bn_running_mean, head_dist_bn_running_var, head_dist_bn_weight, head_dist_bn_bias, head_dist_linear_weight, head_dist_linear_bias, in_506):
        batch_norm_0 = torch.nn.functional.batch_norm(in_503, head_dist_bn_running_mean, head_dist_bn_running_var, weight=head_dist_bn_weight, bias=head_dist_bn_bias, training=False, momentum=0.1, eps=1e-05)
        dropout_1 = torch.nn.functional.dropout(batch_norm_0, p=0.0, training=False, inplace=False)
        linear_2 = torch.nn.functional.linear(dropout_1, head_dist_linear_weight, head_dist_linear_bias)
        add_3 = in_506.add(linear_2)
        div_4 = add_3.div(2)
        return (div_4,)
