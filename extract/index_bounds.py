"""A traced program to the index that it takes out of bounds, where its literals alone say so.

On tensors without values nothing notices: a model that looks up `table[arange(width)]` traces at any width, and would
raise on real tensors beyond the table's. What follows from literals is computed here, as far as an index asks for it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, Final

import torch

from extract.canonical import is_random, written_operands
from extract.graph import Arg, ArgSlice, Graph, Node, OpRef, Ref, TensorRef
from extract.replay import run_node

MAX_ELEMENTS: Final = 1 << 22
"""A larger index is not computed: what a program looks up by is small."""
_CPU: Final = torch.device("cpu")
_BY_DIM: Final = frozenset({"index_select", "gather", "take_along_dim"})


def out_of_bounds(graph: Graph) -> str | None:
    """Say which index of a program is out of bounds, None where none is known to be; costs the calls that make one."""
    asked = [place for index, node in enumerate(graph.nodes) for place in _lookups(graph, index, node)]
    if not asked:
        return None
    values = _computed(graph, {ref for _, ref, _ in asked})
    for index, ref, size in asked:
        value = values.get((index, ref))
        if value is not None and value.numel() and not (-size <= int(value.min()) and int(value.max()) < size):
            worst = int(value.max()) if int(value.max()) >= size else int(value.min())
            return (
                f"op {index} ({graph.nodes[index].op}): index {worst} is out of bounds for a dimension of size {size}"
            )
    return None


def _lookups(graph: Graph, index: int, node: Node) -> Iterator[tuple[int, OpRef, int]]:
    """Yield (op, index operand made by an op, how many there are to choose from) of a call."""
    if node.op == "embedding":
        source, table = _named(node, 0, "input"), _named(node, 1, "weight")
        if isinstance(source, OpRef) and (shape := _shape(graph, table)):
            yield index, source, shape[0]
    elif node.op in _BY_DIM:
        shape, dim = _shape(graph, _named(node, 0, "input")), _named(node, 1, "dim")
        source = _named(node, 2, "index")
        if isinstance(source, OpRef) and isinstance(dim, int) and shape:
            yield index, source, shape[dim]
    elif node.op in ("getitem", "setitem") and len(node.args) > 1:
        yield from _positions(graph, index, node)


def _positions(graph: Graph, index: int, node: Node) -> Iterator[tuple[int, OpRef, int]]:
    entries = node.args[1] if isinstance(node.args[1], tuple) else (node.args[1],)
    shape = _shape(graph, node.args[0])
    if any(_is_mask(graph, entry) or not _is_plain(entry) for entry in entries):
        return
    num_taken = sum(entry is not None and entry is not ... for entry in entries)
    dim = 0
    for entry in entries:
        if entry is ...:
            dim += len(shape) - num_taken
        elif entry is not None:
            if isinstance(entry, OpRef) and dim < len(shape):
                yield index, entry, shape[dim]
            dim += 1


def _is_plain(entry: Arg) -> bool:
    return entry is None or entry is ... or isinstance(entry, int | ArgSlice | OpRef | TensorRef)


def _is_mask(graph: Graph, entry: Arg) -> bool:
    return isinstance(entry, OpRef | TensorRef) and _dtype(graph, entry) in ("bool", "")


def _computed(graph: Graph, wanted: set[OpRef]) -> dict[tuple[int, OpRef], torch.Tensor]:
    """Return the values of the wanted refs as they are at each op that takes them, as far as literals tell."""
    needed = _needed(graph, wanted)
    values: dict[Ref, Any] = {}
    found: dict[tuple[int, OpRef], torch.Tensor] = {}
    for index, node in enumerate(graph.nodes):
        for ref in node.refs():
            if ref in wanted and isinstance(values.get(ref), torch.Tensor) and isinstance(ref, OpRef):
                found[index, ref] = values[ref].clone()
        if index in needed:
            _follow(index, node, values)
    return found


def _needed(graph: Graph, wanted: set[OpRef]) -> set[int]:
    """Return the ops that the wanted values are made by, what writes into any of these among them."""
    needed = {ref.index for ref in wanted}
    size = -1
    while size != len(needed):
        size = len(needed)
        for index in range(len(graph.nodes) - 1, -1, -1):
            node = graph.nodes[index]
            if index in needed:
                needed.update(ref.index for ref in node.refs() if isinstance(ref, OpRef))
            elif any(isinstance(ref, OpRef) and ref.index in needed for ref in written_operands(node)):
                needed.add(index)
    return needed


def _follow(index: int, node: Node, values: dict[Ref, Any]) -> None:
    """Run a call on what is known; where something is not, what it returns and writes into is not known either."""
    is_known = all(ref in values for ref in node.refs()) and not is_random(node) and _is_small(node)
    returned = None
    if is_known:
        try:
            returned = run_node(node, values.__getitem__, _CPU)
        except (RuntimeError, TypeError, ValueError, IndexError, NotImplementedError):
            is_known = False
    if not is_known:
        for ref in written_operands(node):
            values.pop(ref, None)
        return
    for ref, value in _parts(index, returned):
        values[ref] = value


def _parts(index: int, returned: Any) -> Iterator[tuple[Ref, Any]]:
    if isinstance(returned, torch.Tensor):
        yield OpRef(index), returned
    elif isinstance(returned, tuple | list):
        for place, part in enumerate(returned):
            if isinstance(part, torch.Tensor):
                yield OpRef(index, (place,)), part


def _is_small(node: Node) -> bool:
    return all(math.prod(output.shape) <= MAX_ELEMENTS for output in node.outputs)


def _named(node: Node, position: int, name: str) -> Arg:
    return node.args[position] if position < len(node.args) else dict(node.kwargs).get(name)


def _shape(graph: Graph, arg: Arg) -> tuple[int, ...]:
    if isinstance(arg, TensorRef):
        return graph.tensors[arg.index].shape
    outputs = graph.nodes[arg.index].outputs if isinstance(arg, OpRef) else ()
    return next((o.shape for o in outputs if isinstance(arg, OpRef) and o.path == arg.path), ())


def _dtype(graph: Graph, ref: Ref) -> str:
    if isinstance(ref, TensorRef):
        return graph.tensors[ref.index].dtype
    return next((o.dtype for o in graph.nodes[ref.index].outputs if o.path == ref.path), "")
