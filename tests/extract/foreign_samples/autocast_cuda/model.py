import torch

class GraphModule(torch.nn.Module):

    def forward(self, x, w):
        _enter_autocast = torch.amp.autocast_mode._enter_autocast('cuda', torch.float16, True, True)
        linear = torch._C._nn.linear(x, w);  x = w = None
        _exit_autocast = torch.amp.autocast_mode._exit_autocast(_enter_autocast);  _enter_autocast = _exit_autocast = None
        softmax = torch.nn.functional.softmax(linear, dim = -1);  linear = None
        return (softmax,)
