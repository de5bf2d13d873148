import torch

class GraphModule(torch.nn.Module):

    def forward(self, x):
        special_erf = torch._C._special.special_erf(x)
        linalg_vector_norm = torch._C._linalg.linalg_vector_norm(special_erf, 2, -1, True);  special_erf = None
        truediv = x / linalg_vector_norm;  x = linalg_vector_norm = None
        return (truediv,)
