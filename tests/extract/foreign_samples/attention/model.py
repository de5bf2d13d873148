import torch

class GraphModule(torch.nn.Module):

    def forward(self, x):
        attn_mask = None
        q = x.view(1, 2, 1, 4)
        attn = torch._C._nn.scaled_dot_product_attention(q, q, q, attn_mask = attn_mask, dropout_p = 0.0, is_causal = False);  q = None
        pad = torch._C._nn.pad(attn, (1, 1), 'constant', None);  attn = None
        return (pad,)
