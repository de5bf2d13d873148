"""How values lie in memory: in eager mode on a target, and within a plan whose layout is optimised.

Strides recorded on meta tensors are not always those of a device (a convolution of a channels-last image returns one),
so the graph is run on fake tensors of the target, each call as Inductor decomposes it: it plans by what that gives.
Inductor keeps images channels-last between convolutions and lets what follows take the order of what it reads, as eager
mode does with channels-last images: for the second, each convolution's result is made channels-last.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import torch
import torch._inductor.lowering  # decompositions look it up
from torch._inductor.decomposition import select_decomp_table
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils._python_dispatch import TorchDispatchMode

from extract.graph import Graph, Node, OpRef
from extract.replay import replay
from profiles.kernels.op_classes import is_convolution
from profiles.kernels.program import fake_operands

Strides = dict[OpRef, tuple[int, ...]]


def with_eager_strides(graph: Graph, device: str) -> Graph:
    """Return the graph with the strides that its values have on `device` before any layout is optimised; as recorded
    where it cannot be run there."""
    if not any(map(is_convolution, graph.nodes)):
        return graph
    strides = _run(graph, device, lambda _, value: value)

    def corrected(index: int, node: Node) -> Node:
        outputs = tuple(
            replace(made, stride=strides.get(OpRef(index, made.path), made.stride)) for made in node.outputs
        )
        return node if outputs == node.outputs else replace(node, outputs=outputs)

    return replace(graph, nodes=tuple(corrected(index, node) for index, node in enumerate(graph.nodes)))


def optimised_strides(graph: Graph, device: str) -> Strides:
    """Return the strides of the values that ops return, under an optimised layout; what cannot be run is left out."""
    return _run(graph, device, _channels_last) if any(map(is_convolution, graph.nodes)) else {}


def _channels_last(node: Node, value: Any) -> Any:
    if is_convolution(node) and isinstance(value, torch.Tensor) and value.dim() == 4:
        return value.contiguous(memory_format=torch.channels_last)
    return value


def _run(graph: Graph, device: str, changed: Callable[[Node, Any], Any]) -> Strides:
    """Run a graph on fake tensors, each call's result `changed`, and return the strides seen until a call fails."""
    strides: Strides = {}

    def execute(index: int, run: Callable[[], Any]) -> Any:
        value = changed(graph.nodes[index], run())
        _note(strides, OpRef(index), value)
        return value

    mode = FakeTensorMode(allow_non_fake_inputs=True)
    operands = fake_operands(graph.tensors, device, mode)
    try:
        with mode, _Decomposing():
            replay(graph, operands, torch.device(device), execute=execute)
    except Exception:  # foreign code: any op may refuse fake tensors, or strides that it never saw
        return strides
    return strides


class _Decomposing(TorchDispatchMode):
    """Runs calls as Inductor decomposes them: what these return may lie otherwise than what the kernels return."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        decomposition = select_decomp_table().get(func)
        if decomposition is not None:
            with self:
                made = decomposition(*args, **(kwargs or {}))
            if made is not NotImplemented:
                return made
        return func(*args, **(kwargs or {}))


def _note(strides: Strides, ref: OpRef, value: Any) -> None:
    if isinstance(value, torch.Tensor):
        strides[ref] = tuple(value.stride())
    elif isinstance(value, tuple | list):
        for position, element in enumerate(value):
            _note(strides, OpRef(ref.index, (*ref.path, position)), element)
