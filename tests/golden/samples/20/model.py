import operator

import torch


class GraphModule(torch.nn.Module):
    def forward(self, in_401, stages_2_blocks_1_attn_qkv_bn_running_mean, stages_2_blocks_1_attn_qkv_bn_running_var, stages_2_blocks_1_attn_qkv_bn_weight, stages_2_blocks_1_attn_qkv_bn_bias, stages_2_blocks_1_attn_attention_biases, stages_2_blocks_1_attn_attention_bias_idxs):
        flatten_0 = in_401.flatten(0, 1)
        batch_norm_1 = torch.nn.functional.batch_norm(flatten_0, stages_2_blocks_1_attn_qkv_bn_running_mean, stages_2_blocks_1_attn_qkv_bn_running_var, weight=stages_2_blocks_1_attn_qkv_bn_weight, bias=stages_2_blocks_1_attn_qkv_bn_bias, training=False, momentum=0.1, eps=1e-05)
        reshape_as_2 = batch_norm_1.reshape_as(in_401)
        view_3 = reshape_as_2.view(1, 16, 12, -1)
        split_4 = view_3.split([16, 16, 32], dim=3)
        permute_5 = split_4[0].permute(0, 2, 1, 3)
        permute_6 = split_4[1].permute(0, 2, 3, 1)
        permute_7 = split_4[2].permute(0, 2, 1, 3)
        matmul_8 = permute_5.matmul(permute_6)
        mul_9 = matmul_8.mul(0.25)
        getitem_10 = stages_2_blocks_1_attn_attention_biases[:, stages_2_blocks_1_attn_attention_bias_idxs]
        add_11 = mul_9.add(getitem_10)
        softmax_12 = add_11.softmax(dim=-1)
        return (permute_7, softmax_12,)
