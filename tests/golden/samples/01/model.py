import operator

import torch


class GraphModule(torch.nn.Module):
    def forward(self, x, weight):
        x[:, 0] = 1.5
        relu_1 = torch.relu(x)
        return (relu_1,)
