import operator

import torch


class GraphModule(torch.nn.Module):
    def forward(self, in_139, stages_3_blocks_0_mlp_fc1_weight, stages_3_blocks_0_mlp_fc1_bias, stages_3_blocks_0_mlp_fc2_weight, stages_3_blocks_0_mlp_fc2_bias, stages_3_blocks_0_gamma):
        conv2d_0 = torch.conv2d(in_139, stages_3_blocks_0_mlp_fc1_weight, stages_3_blocks_0_mlp_fc1_bias, (1, 1), (0, 0), (1, 1), 1)
        gelu_1 = torch.nn.functional.gelu(conv2d_0)
        dropout_2 = torch.nn.functional.dropout(gelu_1, p=0.0, training=False, inplace=False)
        conv2d_3 = torch.conv2d(dropout_2, stages_3_blocks_0_mlp_fc2_weight, stages_3_blocks_0_mlp_fc2_bias, (1, 1), (0, 0), (1, 1), 1)
        dropout_4 = torch.nn.functional.dropout(conv2d_3, p=0.0, training=False, inplace=False)
        reshape_5 = stages_3_blocks_0_gamma.reshape(1, -1, 1, 1)
        mul_6 = dropout_4.mul(reshape_5)
        return (mul_6,)
