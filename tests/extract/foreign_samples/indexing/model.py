import torch

class GraphModule(torch.nn.Module):

    def forward(self, x):
        getitem = x[(slice(None, None, None), 0)]
        getitem_1 = x[(Ellipsis, None, slice(0, 2, None))]
        x[(slice(None, None, None), slice(2, 3, None))] = 1.0;  setitem = x;  setitem = None
        x[0, 1:3] = 2
        getitem_2 = x[:, [0, 2]]
        return (getitem, getitem_1, getitem_2, x)
