import operator

import torch


class GraphModule(torch.nn.Module):
    def forward(self, x, weight):
        my_thing_0 = torch.ops.my.thing.default(x, [1, 2], mode='x\né')
        T_1 = my_thing_0.T
        return (T_1,)
