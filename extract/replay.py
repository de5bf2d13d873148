"""Run a graph on given operands: each node's callable is found through the allowlist, never by evaluating text.

Works on real, meta and fake operands. Values are freed after their last use, so peak memory is the program's own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from typing import Any

import torch
from torch.utils._device import _device_constructors

from extract.arguments import decode
from extract.graph import Graph, Node, OpRef, OutputMeta, Ref, TensorRef
from extract.shape_memo import ShapeMemo
from extract.spelling import resolve

# Calls that move a tensor to a named device; a replay moves it to its own device instead.
_DEVICE_MOVES = frozenset({"torch.Tensor.cpu", "torch.Tensor.cuda"})


def replay(
    graph: Graph,
    operands: Sequence[torch.Tensor],
    device: torch.device | None = None,
    memo: ShapeMemo | None = None,
    execute: Callable[[int, Callable[[], Any]], Any] | None = None,
) -> tuple[torch.Tensor, ...]:
    """Return the graph's outputs for `operands` (one per entry of `graph.tensors`, same order).

    Operands may be mutated, as by the model itself. `device` replaces device literals; by default the first operand's.
    With `memo` (meta operands only) a call that an earlier replay made with equal shapes, dtypes and literals is
    answered from there, and a call whose result takes its shape from values returns what its node records.
    `execute(index, run)` stands for each node's call where given: it calls `run`, once or more,
    and returns what later nodes are to see.
    Raises `extract.spelling.UnknownCallable` for a target off the allowlist, and whatever torch raises.
    """
    if len(operands) != len(graph.tensors):
        raise ValueError(f"graph takes {len(graph.tensors)} operands, got {len(operands)}")
    device = device or (operands[0].device if operands else torch.device("cpu"))
    expiring = _last_uses(graph)
    values: dict[int, Any] = {}

    def lookup(ref: Ref) -> Any:
        return operands[ref.index] if isinstance(ref, TensorRef) else _follow(values[ref.index], ref.path)

    with torch.no_grad():
        for index, node in enumerate(graph.nodes):
            run = partial(run_node, node, lookup, device, memo)
            values[index] = run() if execute is None else execute(index, run)
            for dead in expiring[index]:
                del values[dead]
    return tuple(lookup(ref) for ref in graph.outputs)


def run_node(
    node: Node, lookup: Callable[[Ref], Any], device: torch.device | None, memo: ShapeMemo | None = None
) -> Any:
    """Execute one node on the values that `lookup` gives for its refs, and return what the call returns."""
    args = [decode(arg, lookup, device) for arg in node.args]
    if device is not None and node.target in _DEVICE_MOVES:
        return args[0].to(device)
    if device is not None and node.target == "torch.Tensor.to":
        args = [device if _is_device_name(arg) else arg for arg in args]
    kwargs = {name: decode(arg, lookup, device) for name, arg in node.kwargs}
    if device is not None and isinstance(kwargs.get("device"), str):
        kwargs["device"] = device
    func = resolve(node.target)
    if memo is None:
        return func(*args, **kwargs)
    if func in _factories() and "device" not in kwargs:
        kwargs["device"] = device
    try:
        return memo.call(func, tuple(args), kwargs)
    except (NotImplementedError, RuntimeError) as error:
        if not isinstance(error, NotImplementedError) and "meta tensor" not in str(error):
            raise
        return _recorded(node.outputs)


@lru_cache(maxsize=1)
def _factories() -> frozenset[Any]:
    return frozenset(_device_constructors())


def _recorded(outputs: Sequence[OutputMeta], depth: int = 0) -> Any:
    """Make meta tensors of the shapes, strides and dtypes that a node records, in the structure that it returned."""
    if not outputs:
        return None
    if len(outputs[0].path) == depth:
        meta = outputs[0]
        return torch.empty_strided(meta.shape, meta.stride, dtype=getattr(torch, meta.dtype), device="meta")
    last = max(output.path[depth] for output in outputs)
    elements = [[output for output in outputs if output.path[depth] == position] for position in range(last + 1)]
    return tuple(_recorded(element, depth + 1) for element in elements)


def _follow(value: Any, path: tuple[int, ...]) -> Any:
    for step in path:
        value = value[step]
    return value


def _is_device_name(arg: Any) -> bool:
    return isinstance(arg, str) and arg.split(":")[0] in ("cpu", "cuda", "meta", "mps", "xpu")


def _last_uses(graph: Graph) -> list[list[int]]:
    """Per node, the ops whose values nobody needs after it."""
    last = {index: index for index in range(len(graph.nodes))}
    for index, node in enumerate(graph.nodes):
        last.update({ref.index: index for ref in node.refs() if isinstance(ref, OpRef)})
    for ref in graph.outputs:
        if isinstance(ref, OpRef):
            last.pop(ref.index, None)
    expiring: list[list[int]] = [[] for _ in graph.nodes]
    for index, user in last.items():
        expiring[user].append(index)
    return expiring
