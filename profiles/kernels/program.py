"""A graph as what `torch.compile` hands to Inductor: a module at torch level, and operands without memory.

Every tensor is an operand, weights and constants too: so `torch.compile` lifts them. Device literals, and the factories
that name none, go to the target's device. Each fx node notes the op of the graph that it stands for.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import torch
from torch import fx
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.nn import functional as F
from torch.utils._device import _device_constructors

from extract.fx import to_fx
from extract.graph import Graph, Node, TensorMeta, TorchConstant

OP_INDEX = "passnet_op"
"""The key of an fx node's `meta["custom"]`, which tracing hands on to the nodes that decompose it."""

_WITH_GRADIENTS = {"float16", "bfloat16", "float32", "float64", "complex64", "complex128"}
_MOVES = {"torch.Tensor.cpu", "torch.Tensor.cuda"}


def program_of(graph: Graph, device: str) -> tuple[fx.GraphModule, list[torch.Tensor]]:
    """Return a module that computes `graph` on `device` and its fake operands, one per entry of `graph.tensors`.

    Raises what `extract.fx.to_fx` raises.
    """
    mode = FakeTensorMode(allow_non_fake_inputs=True)
    return module_of(graph, device), fake_operands(graph.tensors, device, mode)


def module_of(graph: Graph, device: str) -> fx.GraphModule:
    """Return a module that computes `graph` on `device` and takes every tensor, in order; raises as `program_of`."""
    operands = tuple(replace(tensor, kind="input") for tensor in graph.tensors)
    module = to_fx(Graph(tuple(_placed(node, device) for node in graph.nodes), operands, graph.outputs), {})
    factories = _device_constructors()
    for node, index in _calls(module, len(graph.tensors)):
        node.meta["custom"] = {OP_INDEX: index}
        if node.target in factories and "device" not in node.kwargs:
            node.kwargs = {**node.kwargs, "device": torch.device(device)}
        if node.target is _ATTENTION:
            node.target = F.scaled_dot_product_attention
    module.recompile()
    return module


def fake_operands(tensors: tuple[TensorMeta, ...], device: str, mode: FakeTensorMode) -> list[torch.Tensor]:
    """Return tensors of `mode`, without memory, of the recorded shapes, strides and dtypes, on `device`.

    Parameters ask for gradients: torch folds a product with a weight by that, even where no gradient is recorded.
    """
    with mode:
        return [
            torch.empty_strided(
                meta.shape,
                meta.stride,
                dtype=getattr(torch, meta.dtype),
                device=device,
                requires_grad=meta.kind == "parameter" and meta.dtype in _WITH_GRADIENTS,
            )
            for meta in tensors
        ]


_ATTENTION = F.scaled_dot_product_attention


def _calls(module: fx.GraphModule, num_operands: int) -> Iterator[tuple[fx.Node, int]]:
    """Yield the call nodes with the op each belongs to; the getitem of a returned tuple belongs to its op."""
    index = -1
    for node in module.graph.nodes:
        if node.op in ("call_function", "call_method"):
            if "passnet_outputs" in node.meta:
                index += 1
            yield node, index


def _placed(node: Node, device: str) -> Node:
    """Return a node whose device literals name `device`."""

    def place(arg: Any) -> Any:
        if isinstance(arg, TorchConstant) and arg.kind == "device":
            return TorchConstant("device", device)
        return arg

    args = tuple(place(arg) for arg in node.args)
    if node.target == "torch.Tensor.to":
        args = tuple(TorchConstant("device", device) if _names_device(arg) else arg for arg in args)
    if node.target in _MOVES:
        return replace(node, target="torch.Tensor.to", args=(args[0], TorchConstant("device", device)), kwargs=())
    kwargs = tuple(
        (name, TorchConstant("device", device) if name == "device" and value is not None else place(value))
        for name, value in node.kwargs
    )
    return replace(node, args=args, kwargs=kwargs)


def _names_device(arg: Any) -> bool:
    return isinstance(arg, str) and arg.split(":")[0] in ("cpu", "cuda", "meta", "mps", "xpu")
