import torch
from torch import inf

class GraphModule(torch.nn.Module):

    def forward(self, x):
        view = x.view(2, 2, 2)
        transpose = view.transpose(1, 2);  view = None
        contiguous = transpose.contiguous();  transpose = None
        reshape = contiguous.reshape(-1, 4);  contiguous = None
        softmax = reshape.softmax(dim = -1);  reshape = None
        masked_fill = softmax.masked_fill(softmax.lt(0.1), -inf)
        return (masked_fill,)
