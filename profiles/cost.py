"""A cut to what it must cost at least: bytes moved, floating-point operations, and their quotient.

Bytes: each operand is read once, where a call reads its values, and each result is written once; what stays inside the
cut could stay in registers. Views move nothing: of an operand that is seen through views alone, what these show is
read (at most the whole); of a value of which views are results, what these show is written; a view of an operand is
not written at all. Calls that index by tensors read of their source as much as they return. Operations: `op_flop`, and
the formulas of `extract.cost`. What is unknown is None, never zero.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from extract.canonical import bind, mutated_operands
from extract.cut import Cutter, Outline
from extract.graph import Arg, Graph, Node, OpRef, Ref, TensorRef
from extract.views import Facts, facts_of, is_view, num_bytes
from profiles.op_flop import call_flop

# Calls that ask only for shape, dtype or device of their operands.
_SHAPE_ONLY: Final = frozenset(
    "zeros_like ones_like full_like empty_like rand_like randn_like randint_like new_zeros new_ones new_full new_empty "
    "new_tensor".split()
)
# Calls whose first operand is a source of which they read what they return, by the operands that pick it.
_PICKS: Final = frozenset("index_select gather take_along_dim getitem".split())


@dataclass(frozen=True, slots=True)
class Cost:
    """What one run of a cut costs at least: bytes moved to and from memory, and FLOP, a multiply-add as two; None where
    unknown."""

    num_bytes: int | None
    num_flop: float | None

    @property
    def arithmetic_intensity(self) -> float | None:
        """FLOP per byte; None where either is unknown or nothing is moved."""
        return None if self.num_flop is None or not self.num_bytes else self.num_flop / self.num_bytes


class CutCosts:
    """Costs of the cuts of one graph: a call is looked at once, when a cut first holds it; each cut then costs
    microseconds per op."""

    def __init__(self, graph: Graph) -> None:
        self._nodes = graph.nodes
        self._facts: Facts = facts_of(graph)
        self._sizes: dict[Ref, int] = {}
        self._calls: dict[int, _Call] = {}

    def cost(self, start: int, end: int, outline: Outline) -> Cost:
        """Return the cost of ops [start, end), whose `Cutter.outline` it is."""
        try:
            counts = [self._call(index).num_flop for index in range(start, end)]
        except ValueError:  # a dtype of unknown size
            return Cost(None, None)
        num_flop = None if None in counts else sum([count or 0.0 for count in counts])
        try:
            num_bytes = self._bytes_read(start, end) + self._bytes_written(start, outline.results)
        except (KeyError, ValueError):  # a value without a record, or of a dtype of unknown size
            num_bytes = None
        return Cost(num_bytes, num_flop)

    def _call(self, index: int) -> _Call:
        found = self._calls.get(index)
        if found is None:
            node = self._nodes[index]
            view = is_view(node, self._facts)
            reads = () if view else tuple(_reads(node))
            found = _Call(reads, _base(node, view), 0.0 if view else call_flop(node, self._facts))
            self._calls[index] = found
        return found

    def _bytes_read(self, start: int, end: int) -> int:
        seen: dict[Ref, dict[Ref, int]] = {}
        for index in range(start, end):
            for ref, most in self._call(index).reads:
                source = self._source(ref, start)
                if type(source) is TensorRef or source.index < start:
                    views = seen.setdefault(source, {})
                    size = self._size(ref)
                    views[ref] = max(views.get(ref, 0), size if most is None else min(size, most))
        return sum([min(self._size(source), sum(views.values())) for source, views in seen.items()])

    def _bytes_written(self, start: int, results: Iterable[Ref]) -> int:
        seen: dict[Ref, int] = {}
        for ref in results:
            source = self._source(ref, start)
            if type(source) is OpRef and source.index >= start:
                seen[source] = seen.get(source, 0) + self._size(ref)
        return sum([min(self._size(source), size) for source, size in seen.items()])

    def _size(self, ref: Ref) -> int:
        size = self._sizes.get(ref)
        if size is None:
            size = self._sizes[ref] = num_bytes(self._facts[ref])
        return size

    def _source(self, ref: Ref, start: int) -> Ref:
        """Follow a view to the value of the cut, or the operand, whose memory it shows."""
        while type(ref) is OpRef and ref.index >= start:
            base = self._call(ref.index).base
            if base is None:
                return ref
            ref = base
        return ref


@dataclass(frozen=True, slots=True)
class _Call:
    """What a call reads (operand, bytes at most), the operand whose memory it returns, and its FLOP."""

    reads: tuple[tuple[Ref, int | None], ...]
    base: Ref | None
    num_flop: float | None


def cut_cost(graph: Graph) -> Cost:
    """Return the cost of a cut that is a graph of its own, whose calls' outputs are recorded."""
    num_ops = len(graph.nodes)
    return CutCosts(graph).cost(0, num_ops, Cutter(graph).outline(0, num_ops))


def _base(node: Node, view: bool) -> Ref | None:
    """Return the operand whose memory a call returns: that of a view, or the one that it writes into."""
    written = mutated_operands(node)
    if written and node.op not in ("batch_norm", "instance_norm"):
        return written[0]
    return next(node.refs(), None) if view else None


def _reads(node: Node) -> Iterable[tuple[Ref, int | None]]:
    """Yield the operands whose values a call that is no view reads, and how many bytes at most where it picks some."""
    if node.op in _SHAPE_ONLY:
        return
    refs = list(node.refs())
    picked_from = _source_of_picks(node, refs)
    returned = sum([num_bytes(output) for output in node.outputs]) if node.outputs else None
    for position, ref in enumerate(refs):
        if node.op != "type_as" or position == 0:
            yield ref, returned if ref == picked_from else None


def _source_of_picks(node: Node, refs: Sequence[Ref]) -> Arg:
    if node.op == "embedding":
        return dict(bind(node)[1]).get("weight")
    return refs[0] if node.op in _PICKS else None
