import torch

class GraphModule(torch.nn.Module):

    def forward(self, x):
        _set_grad_enabled = torch._C._set_grad_enabled(False);  _set_grad_enabled = None
        relu = torch.relu(x);  x = None
        _set_grad_enabled_1 = torch._C._set_grad_enabled(True);  _set_grad_enabled_1 = None
        _log_api_usage_once = torch._C._log_api_usage_once('python.nn_module');  _log_api_usage_once = None
        return relu
