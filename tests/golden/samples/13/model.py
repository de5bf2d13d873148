import operator

import torch


class GraphModule(torch.nn.Module):
    def forward(self, in_195, in_186, blocks_10_norm2_weight, blocks_10_norm2_bias, blocks_10_mlp_fc1_weight, blocks_10_mlp_fc1_bias):
        dropout_0 = torch.nn.functional.dropout(in_195, p=0.0, training=False, inplace=False)
        add_1 = in_186.add(dropout_0)
        layer_norm_2 = torch.nn.functional.layer_norm(add_1, (192,), weight=blocks_10_norm2_weight, bias=blocks_10_norm2_bias, eps=1e-06)
        linear_3 = torch.nn.functional.linear(layer_norm_2, blocks_10_mlp_fc1_weight, blocks_10_mlp_fc1_bias)
        gelu_4 = torch.nn.functional.gelu(linear_3, approximate='none')
        return (add_1, gelu_4,)
