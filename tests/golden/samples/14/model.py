import operator

import torch


class GraphModule(torch.nn.Module):
    def forward(self, in_197, layers_1_blocks_1_mlp_fc2_weight, layers_1_blocks_1_mlp_fc2_bias, in_194, layers_2_downsample_norm_weight, layers_2_downsample_norm_bias, layers_2_downsample_reduction_weight, layers_2_blocks_0_norm1_weight, layers_2_blocks_0_norm1_bias):
        dropout_0 = torch.nn.functional.dropout(in_197, p=0.0, training=False, inplace=False)
        linear_1 = torch.nn.functional.linear(dropout_0, layers_1_blocks_1_mlp_fc2_weight, layers_1_blocks_1_mlp_fc2_bias)
        dropout_2 = torch.nn.functional.dropout(linear_1, p=0.0, training=False, inplace=False)
        add_3 = in_194.add(dropout_2)
        reshape_4 = add_3.reshape(1, 28, 28, 192)
        pad_5 = torch.nn.functional.pad(reshape_4, (0, 0, 0, 0, 0, 0), mode='constant', value=None)
        reshape_6 = pad_5.reshape(1, 14, 2, 14, 2, 192)
        permute_7 = reshape_6.permute(0, 1, 3, 4, 2, 5)
        flatten_8 = permute_7.flatten(3)
        layer_norm_9 = torch.nn.functional.layer_norm(flatten_8, (768,), weight=layers_2_downsample_norm_weight, bias=layers_2_downsample_norm_bias, eps=1e-05)
        linear_10 = torch.nn.functional.linear(layer_norm_9, layers_2_downsample_reduction_weight, None)
        layer_norm_11 = torch.nn.functional.layer_norm(linear_10, (384,), weight=layers_2_blocks_0_norm1_weight, bias=layers_2_blocks_0_norm1_bias, eps=1e-05)
        pad_12 = torch.nn.functional.pad(layer_norm_11, (0, 0, 0, 0, 0, 0), mode='constant', value=None)
        return (linear_10, pad_12,)
