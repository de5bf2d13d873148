import torch

class GraphModule(torch.nn.Module):

    def forward(self, x):
        unused = torch.exp(x)
        also = unused + 1;  unused = also = None
        dropout = torch.nn.functional.dropout(x, 0.1, True, False)
        y = x.clone()
        add_ = y.add_(1)
        return (y,)
