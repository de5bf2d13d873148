import operator

import torch


class GraphModule(torch.nn.Module):
    def forward(self, in_245, in_250, stages_2_blocks_3_rnn_tokens_fc_weight, stages_2_blocks_3_rnn_tokens_fc_bias, in_237, stages_2_blocks_3_norm2_weight, stages_2_blocks_3_norm2_bias, stages_2_blocks_3_mlp_channels_fc1_weight, stages_2_blocks_3_mlp_channels_fc1_bias, stages_2_blocks_3_mlp_channels_fc2_weight, stages_2_blocks_3_mlp_channels_fc2_bias, stages_2_blocks_4_norm1_weight, stages_2_blocks_4_norm1_bias):
        cat_0 = torch.cat([in_245, in_250], dim=-1)
        linear_1 = torch.nn.functional.linear(cat_0, stages_2_blocks_3_rnn_tokens_fc_weight, stages_2_blocks_3_rnn_tokens_fc_bias)
        add_2 = in_237.add(linear_1)
        layer_norm_3 = torch.nn.functional.layer_norm(add_2, (384,), weight=stages_2_blocks_3_norm2_weight, bias=stages_2_blocks_3_norm2_bias, eps=1e-06)
        linear_4 = torch.nn.functional.linear(layer_norm_3, stages_2_blocks_3_mlp_channels_fc1_weight, stages_2_blocks_3_mlp_channels_fc1_bias)
        gelu_5 = torch.nn.functional.gelu(linear_4, approximate='none')
        dropout_6 = torch.nn.functional.dropout(gelu_5, p=0.0, training=False, inplace=False)
        linear_7 = torch.nn.functional.linear(dropout_6, stages_2_blocks_3_mlp_channels_fc2_weight, stages_2_blocks_3_mlp_channels_fc2_bias)
        dropout_8 = torch.nn.functional.dropout(linear_7, p=0.0, training=False, inplace=False)
        add_9 = add_2.add(dropout_8)
        layer_norm_10 = torch.nn.functional.layer_norm(add_9, (384,), weight=stages_2_blocks_4_norm1_weight, bias=stages_2_blocks_4_norm1_bias, eps=1e-06)
        permute_11 = layer_norm_10.permute(0, 2, 1, 3)
        reshape_12 = permute_11.reshape(-1, 16, 384)
        return (add_9, layer_norm_10, reshape_12,)
