import operator

import torch


class GraphModule(torch.nn.Module):
    def forward(self, in_577, in_576, in_572_2):
        view_0 = in_577.view((49, 49, 16))
        permute_1 = view_0.permute(2, 0, 1)
        unsqueeze_2 = permute_1.unsqueeze(0)
        contiguous_3 = unsqueeze_2.contiguous()
        add_4 = in_576.add(contiguous_3)
        softmax_5 = add_4.softmax(dim=-1)
        dropout_6 = torch.nn.functional.dropout(softmax_5, p=0.0, training=False, inplace=False)
        matmul_7 = dropout_6.matmul(in_572_2)
        transpose_8 = matmul_7.transpose(1, 2)
        return (transpose_8,)
