import torch

class GraphModule(torch.nn.Module):

    def forward(self, x):
        chunk = torch.chunk(x, 2, dim = 1);  x = None
        getitem = chunk[0]
        getitem_1 = chunk[1];  chunk = None
        max_1 = torch.max(getitem, dim = 1);  getitem = None
        values, indices = max_1
        topk = torch.topk(getitem_1, 1);  getitem_1 = None
        getitem_2 = topk[0];  topk = None
        return (values, indices, getitem_2)
