import operator

import torch


class GraphModule(torch.nn.Module):
    def forward(self, x, weight):
        add_0 = x + 1
        add__1 = add_0.add_(weight, alpha=2)
        add_2 = torch.add(x, add__1)
        return (add_2,)
