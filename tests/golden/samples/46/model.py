import operator

import torch


class GraphModule(torch.nn.Module):
    def forward(self, in_69, blocks_4_mlp_tokens_fc2_weight, blocks_4_mlp_tokens_fc2_bias, in_66, blocks_4_norm2_weight, blocks_4_norm2_bias, blocks_4_mlp_channels_fc1_weight, blocks_4_mlp_channels_fc1_bias, blocks_4_mlp_channels_fc2_weight, blocks_4_mlp_channels_fc2_bias, blocks_5_norm1_weight, blocks_5_norm1_bias):
        gelu_0 = torch.nn.functional.gelu(in_69, approximate='none')
        dropout_1 = torch.nn.functional.dropout(gelu_0, p=0.0, training=False, inplace=False)
        linear_2 = torch.nn.functional.linear(dropout_1, blocks_4_mlp_tokens_fc2_weight, blocks_4_mlp_tokens_fc2_bias)
        dropout_3 = torch.nn.functional.dropout(linear_2, p=0.0, training=False, inplace=False)
        transpose_4 = dropout_3.transpose(1, 2)
        add_5 = in_66.add(transpose_4)
        layer_norm_6 = torch.nn.functional.layer_norm(add_5, (512,), weight=blocks_4_norm2_weight, bias=blocks_4_norm2_bias, eps=1e-06)
        linear_7 = torch.nn.functional.linear(layer_norm_6, blocks_4_mlp_channels_fc1_weight, blocks_4_mlp_channels_fc1_bias)
        gelu_8 = torch.nn.functional.gelu(linear_7, approximate='none')
        dropout_9 = torch.nn.functional.dropout(gelu_8, p=0.0, training=False, inplace=False)
        linear_10 = torch.nn.functional.linear(dropout_9, blocks_4_mlp_channels_fc2_weight, blocks_4_mlp_channels_fc2_bias)
        dropout_11 = torch.nn.functional.dropout(linear_10, p=0.0, training=False, inplace=False)
        add_12 = add_5.add(dropout_11)
        layer_norm_13 = torch.nn.functional.layer_norm(add_12, (512,), weight=blocks_5_norm1_weight, bias=blocks_5_norm1_bias, eps=1e-06)
        return (add_12, layer_norm_13,)
