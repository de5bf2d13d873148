"""torch's fused encoder: modules that take another way while a function mode watches, and how to watch a copy instead.

`torch.nn.TransformerEncoder`, its layer and `MultiheadAttention` have a fused path for inference that torch leaves as
soon as anything overrides torch functions (torch/nn/modules/transformer.py, `has_torch_function`). Its values differ in
the last bits, and at padded positions altogether. So what is recorded is a call of a copy, on copies of the arguments,
and the user's own call goes on unwatched.
"""

from __future__ import annotations

import copy
import random
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch.utils._pytree import tree_map

_KINDS = (torch.nn.TransformerEncoder, torch.nn.TransformerEncoderLayer, torch.nn.MultiheadAttention)


def may_be_fused(module: torch.nn.Module) -> bool:
    """Tell whether a part of a module could take the fused path when called as it is."""
    return any(isinstance(part, _KINDS) and not part.training for part in module.modules())


def copied_call(
    module: torch.nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[torch.nn.Module, tuple[Any, ...], dict[str, Any]]:
    """Return a deep copy of a module and of the arguments of a call; raises whatever cannot be copied."""
    leaves = tree_map(_leaf, (args, kwargs))
    return copy.deepcopy(module), *copy.deepcopy(leaves)


def _leaf(value: Any) -> Any:
    """Return a tensor that can be copied: one that was computed belongs to a graph, which cannot."""
    return value.detach().requires_grad_(value.requires_grad) if isinstance(value, torch.Tensor) else value


@contextmanager
def same_random_state() -> Iterator[None]:
    """Let the block draw what it likes from the generators of torch, Python and numpy: they go on as if it had not."""
    numpy: Any = sys.modules.get("numpy")
    states = torch.get_rng_state(), random.getstate(), numpy.random.get_state() if numpy else None
    on_devices = torch.cuda.get_rng_state_all() if torch.cuda.is_initialized() else []
    try:
        yield
    finally:
        torch.set_rng_state(states[0])
        random.setstate(states[1])
        if numpy:
            numpy.random.set_state(states[2])
        if on_devices:
            torch.cuda.set_rng_state_all(on_devices)
