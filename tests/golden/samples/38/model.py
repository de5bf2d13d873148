import operator

import torch


class GraphModule(torch.nn.Module):
    def forward(self, in_111, stages_3_1_conv_kxk_conv_weight, stages_3_1_conv_kxk_bn_running_mean, stages_3_1_conv_kxk_bn_running_var, stages_3_1_conv_kxk_bn_weight, stages_3_1_conv_kxk_bn_bias, stages_3_1_conv_1x1_weight, stages_3_1_transformer_0_norm1_weight, stages_3_1_transformer_0_norm1_bias, stages_3_1_transformer_0_attn_qkv_weight, stages_3_1_transformer_0_attn_qkv_bias):
        conv2d_0 = torch.conv2d(in_111, stages_3_1_conv_kxk_conv_weight, None, (1, 1), (1, 1), (1, 1), 1)
        batch_norm_1 = torch.nn.functional.batch_norm(conv2d_0, stages_3_1_conv_kxk_bn_running_mean, stages_3_1_conv_kxk_bn_running_var, weight=stages_3_1_conv_kxk_bn_weight, bias=stages_3_1_conv_kxk_bn_bias, training=False, momentum=0.1, eps=1e-05)
        silu__2 = torch.nn.functional.silu(batch_norm_1, inplace=True)
        conv2d_3 = torch.conv2d(silu__2, stages_3_1_conv_1x1_weight, None, (1, 1), (0, 0), (1, 1), 1)
        reshape_4 = conv2d_3.reshape(960, 2, 8, 2)
        transpose_5 = reshape_4.transpose(1, 2)
        reshape_6 = transpose_5.reshape(1, 120, 64, 4)
        transpose_7 = reshape_6.transpose(1, 3)
        reshape_8 = transpose_7.reshape(4, 64, -1)
        layer_norm_9 = torch.nn.functional.layer_norm(reshape_8, (120,), weight=stages_3_1_transformer_0_norm1_weight, bias=stages_3_1_transformer_0_norm1_bias, eps=1e-05)
        linear_10 = torch.nn.functional.linear(layer_norm_9, stages_3_1_transformer_0_attn_qkv_weight, stages_3_1_transformer_0_attn_qkv_bias)
        reshape_11 = linear_10.reshape(4, 64, 3, 4, 30)
        return (reshape_8, reshape_11,)
