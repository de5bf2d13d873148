import operator

import torch


class GraphModule(torch.nn.Module):
    def forward(self, x, weight):
        batch_norm_0 = torch.nn.functional.batch_norm(x, weight, weight, training=True)
        batch_norm_1 = torch.batch_norm(batch_norm_0, None, None, weight, weight, False, 0.1, 1e-05, True)
        return (batch_norm_1,)
