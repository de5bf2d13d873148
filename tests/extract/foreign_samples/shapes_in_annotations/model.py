import torch

class GraphModule(torch.nn.Module):

    def forward(self, L_x_: "f32[2, 4][4, 1]cuda:0", L_w_: "f32[4, 3][1, 4]cuda:0"):
        l_x_ = L_x_
        mm: "f32[2, 3]" = torch.mm(l_x_, L_w_);  l_x_ = None
        to: "bf16[2, 3]" = mm.to(torch.bfloat16);  mm = None
        return (to,)
