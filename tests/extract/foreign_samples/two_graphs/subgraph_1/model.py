import torch

class GraphModule(torch.nn.Module):

    def forward(self, x):
        sigmoid = torch.sigmoid(x);  x = None
        return (sigmoid,)
