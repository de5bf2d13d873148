import operator

import torch


class GraphModule(torch.nn.Module):
    def forward(self, in_219):
        unbind_0 = in_219.unbind(0)
        view_1 = unbind_0[0].view(1, 8, 4, -1, 96)
        amax_2 = view_1.amax(dim=2)
        contiguous_3 = amax_2.contiguous()
        contiguous_4 = unbind_0[1].contiguous()
        contiguous_5 = unbind_0[2].contiguous()
        scaled_dot_product_attention_6 = torch.nn.functional.scaled_dot_product_attention(contiguous_3, contiguous_4, contiguous_5)
        transpose_7 = scaled_dot_product_attention_6.transpose(1, 2)
        return (transpose_7,)
