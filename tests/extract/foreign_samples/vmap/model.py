import torch

class GraphModule(torch.nn.Module):

    def forward(self, x):
        lazy_load_decompositions = torch._functorch.predispatch.lazy_load_decompositions();  lazy_load_decompositions = None
        _vmap_increment_nesting = torch._functorch.predispatch._vmap_increment_nesting(2, 'error');  _vmap_increment_nesting = None
        _add_batch_dim = torch._functorch.predispatch._add_batch_dim(x, 0, 1);  x = None
        sin = torch.sin(_add_batch_dim);  _add_batch_dim = None
        _remove_batch_dim = torch._functorch.predispatch._remove_batch_dim(sin, 1, 2, 0);  sin = None
        _vmap_decrement_nesting = torch._functorch.predispatch._vmap_decrement_nesting();  _vmap_decrement_nesting = None
        return (_remove_batch_dim,)
