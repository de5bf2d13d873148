"""A traced program to the index that it takes out of bounds, where its literals alone say so.

On tensors without values nothing notices: a model that looks up `table[arange(width)]` traces at any width, and would
raise on real tensors beyond the table's. What follows from literals is known all the same
(`extract.known_values`).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import torch

from extract.graph import Arg, ArgSlice, Graph, Node, OpRef, TensorRef
from extract.known_values import KnownValues
from extract.tensor_identity import Lifted
from extract.views import GraphFacts, facts_of

_BY_DIM: Final = frozenset({"index_select", "gather", "take_along_dim"})


def out_of_bounds(graph: Graph) -> str | None:
    """Say which index of a program is out of bounds, None where none is known to be.

    A program without an index that an op made costs one look at each call, others what their known values cost.
    """
    facts = facts_of(graph)
    nodes: list[Node] = []
    without_values = torch.empty(0, device="meta")
    known = KnownValues(nodes, [Lifted(without_values, meta) for meta in graph.tensors])
    for index, node in enumerate(graph.nodes):
        for ref, size in _lookups(node, facts):
            nodes.extend(graph.nodes[len(nodes) : index])
            value = known.of(ref)
            if value is not None and value.numel() and not (-size <= int(value.min()) and int(value.max()) < size):
                worst = int(value.max()) if int(value.max()) >= size else int(value.min())
                return f"op {index} ({node.op}): index {worst} is out of bounds for a dimension of size {size}"
    return None


def _lookups(node: Node, facts: GraphFacts) -> Iterator[tuple[OpRef, int]]:
    """Yield (index operand made by an op, how many there are to choose from) of a call."""
    if node.op == "embedding":
        source, table = _named(node, 0, "input"), _named(node, 1, "weight")
        if isinstance(source, OpRef) and (shape := _shape(facts, table)):
            yield source, shape[0]
    elif node.op in _BY_DIM:
        shape, dim = _shape(facts, _named(node, 0, "input")), _named(node, 1, "dim")
        source = _named(node, 2, "index")
        if isinstance(source, OpRef) and isinstance(dim, int) and shape:
            yield source, shape[dim]
    elif node.op in ("getitem", "setitem") and len(node.args) > 1:
        yield from _positions(node, facts)


def _positions(node: Node, facts: GraphFacts) -> Iterator[tuple[OpRef, int]]:
    entries = node.args[1] if isinstance(node.args[1], tuple) else (node.args[1],)
    shape = _shape(facts, node.args[0])
    if any(_is_mask(facts, entry) or not _is_plain(entry) for entry in entries):
        return
    num_taken = sum(entry is not None and entry is not ... for entry in entries)
    dim = 0
    for entry in entries:
        if entry is ...:
            dim += len(shape) - num_taken
        elif entry is not None:
            if isinstance(entry, OpRef) and dim < len(shape):
                yield entry, shape[dim]
            dim += 1


def _is_plain(entry: Arg) -> bool:
    return entry is None or entry is ... or isinstance(entry, int | ArgSlice | OpRef | TensorRef)


def _is_mask(facts: GraphFacts, entry: Arg) -> bool:
    """Tell whether an entry of an index is a mask, or might be one."""
    if not isinstance(entry, OpRef | TensorRef):
        return False
    meta = facts.get(entry)
    return meta is None or meta.dtype == "bool"


def _named(node: Node, position: int, name: str) -> Arg:
    return node.args[position] if position < len(node.args) else dict(node.kwargs).get(name)


def _shape(facts: GraphFacts, arg: Arg) -> tuple[int, ...]:
    meta = facts.get(arg) if isinstance(arg, OpRef | TensorRef) else None
    return () if meta is None else meta.shape
