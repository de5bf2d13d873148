import operator

import torch


class GraphModule(torch.nn.Module):
    def forward(self, in_255, stages_2_blocks_3_mlp_channels_fc2_weight, stages_2_blocks_3_mlp_channels_fc2_bias):
        gelu_0 = torch.nn.functional.gelu(in_255, approximate='none')
        dropout_1 = torch.nn.functional.dropout(gelu_0, p=0.0, training=False, inplace=False)
        linear_2 = torch.nn.functional.linear(dropout_1, stages_2_blocks_3_mlp_channels_fc2_weight, stages_2_blocks_3_mlp_channels_fc2_bias)
        return (linear_2,)
