import torch

class GraphModule(torch.nn.Module):

    def forward(self, x):
        t = x.T
        half = t.half();  t = None
        to = half.to(dtype = torch.float);  half = None
        type_1 = to.type(torch.float64);  to = None
        dtype = type_1.dtype
        ones = torch.ones((4, 2), dtype = dtype, device = x.device);  dtype = None
        add = type_1 + ones
        return (add, getattr(add, 'mT'))
