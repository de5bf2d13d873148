import torch
import torch as t
import torch.nn as nn
from torch.nn import functional as F

class GraphModule(torch.nn.Module):

    def forward(self, x, w):
        h = F.silu(F.linear(x, w))
        h = nn.functional.layer_norm(h, (3,), eps=1e-6)
        h = t.cat([h, h], dim=1)
        return h
