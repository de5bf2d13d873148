import operator

import torch


class GraphModule(torch.nn.Module):
    def forward(self, x, weight):
        pow_0 = (-2) ** x
        sub_1 = 1 - pow_0
        div_2 = sub_1 / float('inf')
        return (div_2,)
