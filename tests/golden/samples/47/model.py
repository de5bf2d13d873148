import operator

import torch


class GraphModule(torch.nn.Module):
    def forward(self, in_2, blocks_0_norm1_weight, blocks_0_norm1_bias, blocks_0_mlp_tokens_fc1_weight, blocks_0_mlp_tokens_fc1_bias, blocks_0_mlp_tokens_fc2_weight, blocks_0_mlp_tokens_fc2_bias, blocks_0_norm2_weight, blocks_0_norm2_bias, blocks_0_mlp_channels_fc1_weight, blocks_0_mlp_channels_fc1_bias):
        layer_norm_0 = torch.nn.functional.layer_norm(in_2, (512,), weight=blocks_0_norm1_weight, bias=blocks_0_norm1_bias, eps=1e-06)
        transpose_1 = layer_norm_0.transpose(1, 2)
        linear_2 = torch.nn.functional.linear(transpose_1, blocks_0_mlp_tokens_fc1_weight, blocks_0_mlp_tokens_fc1_bias)
        gelu_3 = torch.nn.functional.gelu(linear_2, approximate='none')
        dropout_4 = torch.nn.functional.dropout(gelu_3, p=0.0, training=False, inplace=False)
        linear_5 = torch.nn.functional.linear(dropout_4, blocks_0_mlp_tokens_fc2_weight, blocks_0_mlp_tokens_fc2_bias)
        dropout_6 = torch.nn.functional.dropout(linear_5, p=0.0, training=False, inplace=False)
        transpose_7 = dropout_6.transpose(1, 2)
        add_8 = in_2.add(transpose_7)
        layer_norm_9 = torch.nn.functional.layer_norm(add_8, (512,), weight=blocks_0_norm2_weight, bias=blocks_0_norm2_bias, eps=1e-06)
        linear_10 = torch.nn.functional.linear(layer_norm_9, blocks_0_mlp_channels_fc1_weight, blocks_0_mlp_channels_fc1_bias)
        gelu_11 = torch.nn.functional.gelu(linear_10, approximate='none')
        dropout_12 = torch.nn.functional.dropout(gelu_11, p=0.0, training=False, inplace=False)
        return (add_8, dropout_12,)
