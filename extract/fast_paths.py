"""torch's fused encoder: modules that take another way while a function mode watches, and how to call them unwatched.

`torch.nn.TransformerEncoder`, its layer and `MultiheadAttention` have a fused path for inference that torch leaves as
soon as anything overrides torch functions (torch/nn/modules/transformer.py, `has_torch_function`). Its values differ in
the last bits, and at padded positions altogether. So a call to be recorded is made twice: once watched, then, with
all that it wrote undone, as the user would have made it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

import torch

_KINDS = (torch.nn.TransformerEncoder, torch.nn.TransformerEncoderLayer, torch.nn.MultiheadAttention)


def may_be_fused(module: torch.nn.Module) -> bool:
    """Tell whether a part of a module could take the fused path when called as it is."""
    return any(isinstance(part, _KINDS) and not part.training for part in module.modules())


@contextmanager
def undone(tensors: Iterable[torch.Tensor]) -> Iterator[None]:
    """Give these tensors, and torch's random generators, their values back at the end, whatever happens within."""
    with torch.no_grad():
        kept = [(tensor, tensor.clone()) for tensor in tensors]
    generators = torch.get_rng_state(), torch.cuda.get_rng_state_all() if torch.cuda.is_initialized() else []
    try:
        yield
    finally:
        torch.set_rng_state(generators[0])
        if generators[1]:
            torch.cuda.set_rng_state_all(generators[1])
        with torch.no_grad():
            for tensor, values in kept:
                if not torch.equal(tensor, values):
                    tensor.copy_(values)
