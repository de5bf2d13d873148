import torch

class GraphModule(torch.nn.Module):

    def forward(self, L_x_ : torch.Tensor, L_self_modules_fc_parameters_weight_ : torch.nn.parameter.Parameter, L_self_modules_fc_parameters_bias_ : torch.nn.parameter.Parameter):
        l_x_ = L_x_
        l_self_modules_fc_parameters_weight_ = L_self_modules_fc_parameters_weight_
        l_self_modules_fc_parameters_bias_ = L_self_modules_fc_parameters_bias_
        linear = torch._C._nn.linear(l_x_, l_self_modules_fc_parameters_weight_, l_self_modules_fc_parameters_bias_);  l_x_ = l_self_modules_fc_parameters_weight_ = l_self_modules_fc_parameters_bias_ = None
        gelu = torch._C._nn.gelu(linear, approximate = 'none');  linear = None
        return (gelu,)
