import torch
import operator

class GraphModule(torch.nn.Module):

    def forward(self, x, y):
        add = x + y;  x = None
        add += y;  add_1 = add;  add = None
        mul = operator.imul(add_1, 2.0);  add_1 = None
        mul -= 1
        relu_ = mul.relu_();  mul = None
        return (relu_,)
