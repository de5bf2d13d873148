"""How values lie in memory within a plan whose layout is optimised, where eager mode would lay them out otherwise.

Inductor keeps images channels-last between convolutions and lets what follows take the order of what it reads, as eager
mode does with channels-last images; so the graph is run on meta tensors, each convolution's result made channels-last.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from extract.graph import Graph, OpRef
from extract.replay import replay
from profiles.kernels.windows import is_convolution

Strides = dict[OpRef, tuple[int, ...]]


def optimised_strides(graph: Graph) -> Strides:
    """Return the strides of the values that ops return, under an optimised layout; what cannot be run is left out."""
    strides: Strides = {}

    def execute(index: int, run: Callable[[], Any]) -> Any:
        value = run()
        node = graph.nodes[index]
        if is_convolution(node) and isinstance(value, torch.Tensor) and value.dim() == 4:
            value = value.contiguous(memory_format=torch.channels_last)
        _note(strides, OpRef(index), value)
        return value

    operands = [
        torch.empty_strided(meta.shape, meta.stride, dtype=getattr(torch, meta.dtype), device="meta")
        for meta in graph.tensors
    ]
    try:
        replay(graph, operands, torch.device("meta"), execute=execute)
    except Exception:  # foreign code: any op may refuse meta tensors, or strides that it never saw
        return strides
    return strides


def _note(strides: Strides, ref: OpRef, value: Any) -> None:
    if isinstance(value, torch.Tensor):
        strides[ref] = tuple(value.stride())
    elif isinstance(value, tuple | list):
        for position, element in enumerate(value):
            _note(strides, OpRef(ref.index, (*ref.path, position)), element)
