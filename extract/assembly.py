"""Recorded calls to a `Graph`: dead code leaves, refs are renumbered, tensors ordered, value reads judged.

Removed are calls without effect whose results nobody uses (definitions.md section 1); in-place, mutating and random
calls stay. Data inputs come first in `Graph.tensors`, in the order of `forward`; the others follow by first use.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from extract.canonical import has_effect, written_operands
from extract.graph import Arg, Graph, Node, OpRef, Ref, TensorMeta, TensorRef, iter_refs, map_refs
from extract.model_ref import ValueRead


@dataclass(frozen=True, slots=True)
class RecordedRead:
    """A value read in terms of the recorded (not yet pruned) calls."""

    op_index: int
    method: str
    refs: tuple[Ref, ...]


def assemble(
    nodes: Sequence[Node], tensors: Sequence[TensorMeta], outputs: Sequence[Ref], reads: Sequence[RecordedRead]
) -> tuple[Graph, tuple[ValueRead, ...]]:
    """Return the graph and its value reads; linear in the number of calls."""
    live = live_nodes(nodes, outputs)
    kept = [node for node, is_live in zip(nodes, live, strict=True) if is_live]
    op_numbers = _running_count(live)
    order = _tensor_order(tensors, kept, outputs)
    numbering = _Numbering(op_numbers, {old: new for new, old in enumerate(order)})
    is_same = len(kept) == len(nodes) and order == list(range(len(order)))
    graph = Graph(
        tuple(kept) if is_same else tuple(numbering.node(node) for node in kept),
        tuple(tensors[index] for index in order),
        tuple(numbering.ref(ref) for ref in outputs),
    )
    return graph, _judge_reads(nodes, tensors, reads, op_numbers)


def live_nodes(
    nodes: Sequence[Node], outputs: Sequence[Ref], operands: Sequence[Sequence[Ref]] | None = None
) -> list[bool]:
    """Tell per call whether it stays: it has an effect, or a call that stays or the return uses its result.

    `operands` are those of each call, where they were collected already.
    """
    live = [False] * len(nodes)
    used = {ref.index for ref in outputs if isinstance(ref, OpRef)}
    for index in range(len(nodes) - 1, -1, -1):
        node = nodes[index]
        if index in used or has_effect(node):
            live[index] = True
            refs = node.refs() if operands is None else operands[index]
            used.update([ref.index for ref in refs if type(ref) is OpRef])
    return live


def renumber(arg: Arg, new_ref: Mapping[Ref, Ref]) -> Arg:
    """Return `arg` with its refs replaced; a ref that the mapping lacks stays."""
    return map_refs(arg, lambda ref: new_ref.get(ref, ref))


@dataclass(frozen=True, slots=True)
class _Numbering:
    ops: Sequence[int]
    tensors: Mapping[int, int]

    def ref(self, ref: Ref) -> Ref:
        if isinstance(ref, TensorRef):
            return TensorRef(self.tensors[ref.index])
        return OpRef(self.ops[ref.index], ref.path)

    def node(self, node: Node) -> Node:
        refs = {ref: self.ref(ref) for ref in node.refs()}
        if all(old == new for old, new in refs.items()):
            return node
        args = tuple([renumber(arg, refs) for arg in node.args])
        kwargs = tuple([(name, renumber(arg, refs)) for name, arg in node.kwargs])
        return replace(node, args=args, kwargs=kwargs)


def _running_count(live: Sequence[bool]) -> list[int]:
    """Number of live calls before each position, and after the last."""
    counts = [0]
    for is_live in live:
        counts.append(counts[-1] + is_live)
    return counts


def _tensor_order(tensors: Sequence[TensorMeta], nodes: Sequence[Node], outputs: Sequence[Ref]) -> list[int]:
    order = dict.fromkeys(index for index, tensor in enumerate(tensors) if tensor.kind == "input")
    for node in nodes:
        for ref in node.refs():
            if isinstance(ref, TensorRef):
                order.setdefault(ref.index)
    order.update(dict.fromkeys(ref.index for ref in outputs if isinstance(ref, TensorRef) and ref.index not in order))
    return list(order)


def _judge_reads(
    nodes: Sequence[Node], tensors: Sequence[TensorMeta], reads: Sequence[RecordedRead], op_numbers: Sequence[int]
) -> tuple[ValueRead, ...]:
    """Follow the data inputs through the calls; writing a tainted value into a tensor taints what it is a view of."""
    if not reads:
        return ()
    tainted: set[Ref] = {TensorRef(index) for index, tensor in enumerate(tensors) if tensor.kind == "input"}
    judged: list[ValueRead] = []
    pending = list(reads)
    for index in range(len(nodes) + 1):
        while pending and pending[0].op_index <= index:
            read = pending.pop(0)
            depends = any(_strip(ref) in tainted for ref in read.refs)
            judged.append(ValueRead(op_numbers[read.op_index], read.method, depends))
        if index < len(nodes) and any(_strip(ref) in tainted for ref in nodes[index].refs()):
            tainted.add(OpRef(index))
            for ref in written_operands(nodes[index]):
                _taint_bases(ref, nodes, tainted)
    return tuple(judged)


def _strip(ref: Ref) -> Ref:
    return ref if isinstance(ref, TensorRef) else OpRef(ref.index)


def _taint_bases(ref: Ref, nodes: Sequence[Node], tainted: set[Ref]) -> None:
    """Taint a written tensor and, since it may be a view, the chain of first operands it was made from."""
    while True:
        tainted.add(_strip(ref))
        if isinstance(ref, TensorRef):
            return
        first = next((base for arg in nodes[ref.index].args[:1] for base in iter_refs(arg)), None)
        if first is None:
            return
        ref = first
