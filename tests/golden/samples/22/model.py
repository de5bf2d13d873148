import operator

import torch


class GraphModule(torch.nn.Module):
    def forward(self, in_313, in_308, network_3_6_norm1_weight, network_3_6_norm1_bias):
        dropout_0 = torch.nn.functional.dropout(in_313, p=0.0, training=False, inplace=False)
        add_1 = in_308.add(dropout_0)
        layer_norm_2 = torch.nn.functional.layer_norm(add_1, (384,), weight=network_3_6_norm1_weight, bias=network_3_6_norm1_bias, eps=1e-05)
        return (add_1, layer_norm_2,)
