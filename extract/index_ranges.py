"""Which values an integer or bool operand may take: those with which every op that indexes by it stays legal. So for
regions of interest, floats whose first column is an index that torchvision's kernels do not check.

Values are followed from the tensor table through ops that keep them (views, concatenation, casts) or change them by
literals (`x * 3 + 1`), up to the ops that index by them, or take them for sizes; what a chain of other ops makes of
them is not followed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from math import prod
from typing import Any

from extract.canonical import bind
from extract.cut import VIEW_OPS
from extract.graph import Arg, ArgList, ArgSlice, Graph, Node, OpRef, Ref, TensorRef, iter_refs

# Ops whose result holds values of their first argument (a tensor or several) and, beside padding, no others.
_KEEPS_VALUES = VIEW_OPS | frozenset(
    "clone cat stack concat hstack vstack repeat tile roll flip repeat_interleave index_select gather masked_select "
    "where clamp clamp_min clamp_max floordiv sort".split()
)
_BY_DIM = {
    **dict.fromkeys(("index_select", "gather", "scatter", "scatter_", "scatter_add", "scatter_add_"), "index"),
    **dict.fromkeys(("scatter_reduce", "scatter_reduce_", "index_add", "index_add_", "index_copy"), "index"),
    **dict.fromkeys(("index_copy_", "index_fill", "index_fill_"), "index"),
    "take_along_dim": "indices",
}
_TAKES_SIZES = frozenset("view reshape expand new_zeros new_ones new_empty new_full zeros ones empty full".split())
_TAKES_REGIONS = frozenset(f"torchvision.{name}" for name in ("roi_align", "roi_pool", "ps_roi_align", "ps_roi_pool"))


@dataclass(frozen=True, slots=True)
class IndexRange:
    """Inclusive bounds of what a tensor's elements may be; `high` is None where no op bounds it."""

    low: int = 0
    high: int | None = None


@dataclass(frozen=True, slots=True)
class _Derived:
    """A value that is `factor * x + spread * (x' - x'') + offset` element by element, each x an element of one tensor
    of the table; the offset lies in [`least`, `most`]."""

    tensor: int
    factor: int = 1
    least: int = 0
    most: int = 0
    spread: int = 0

    def times(self, factor: int) -> _Derived:
        """Return this value multiplied by a literal."""
        ends = (self.least * factor, self.most * factor)
        return _Derived(self.tensor, self.factor * factor, min(ends), max(ends), self.spread * abs(factor))


def index_ranges(graph: Graph) -> dict[int, IndexRange]:
    """Return, by position in the tensor table, the ranges of the tensors that ops index by, of whole numbers.

    A bool tensor that hides what it marks (`masked_fill`) is bounded to False: hiding everything gives NaN. Where
    two ops leave no common value, the range holds the smallest that the upper bounds allow.
    """
    return _Follower(graph).follow()


class _Follower:
    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        taken = (node.args[1] for node in graph.nodes if node.op in _TAKES_REGIONS and len(node.args) > 1)
        regions = {ref.index for ref in taken if isinstance(ref, TensorRef)}
        self._derived: dict[Ref, tuple[_Derived, ...]] = {
            TensorRef(index): (_Derived(index),)
            for index, meta in enumerate(graph.tensors)
            if meta.dtype.startswith(("int", "uint", "bool")) or index in regions
        }
        self._ranges: dict[int, IndexRange] = {}
        self._widths: dict[int, int] = {}  # how far two elements of a tensor may lie apart

    def follow(self) -> dict[int, IndexRange]:
        if not self._derived:
            return {}
        for index, node in enumerate(self._graph.nodes):
            if not any(self._of(ref) for ref in node.refs()):
                continue
            op, pairs = bind(node)
            bound = dict(pairs)
            for indices, stop in self._bounded(node, op, bound):
                self._restrict(indices, stop)
            for sizes, value in self._fixed(node, op, bound):
                self._restrict(sizes, value + 1, value)
            made = self._derive(node, op, bound)
            if made:
                self._derived[OpRef(index)] = made
        for tensor, width in self._widths.items():
            bounds = self._ranges.get(tensor, IndexRange())
            most = bounds.low + width
            self._ranges[tensor] = IndexRange(bounds.low, most if bounds.high is None else min(bounds.high, most))
        return self._ranges

    def _of(self, arg: Arg) -> tuple[_Derived, ...]:
        ref = OpRef(arg.index) if isinstance(arg, OpRef) else arg
        return self._derived.get(ref, ()) if isinstance(ref, TensorRef | OpRef) else ()

    def _derive(self, node: Node, op: str, bound: Mapping[str, Arg]) -> tuple[_Derived, ...]:
        if op in ("add", "sub", "mul", "add_", "sub_", "mul_", "rsub"):
            return self._affine(op.rstrip("_"), bound.get("input"), bound.get("other"))
        if op in ("invert", "logical_not"):
            negated = (derived.times(-1) for derived in self._of(bound.get("input")))
            return tuple(replace(d, least=d.least + 1, most=d.most + 1) for d in negated)
        if op == "cumsum":
            first = next(node.refs())
            longest = max(self._shape(first), default=1)
            return tuple(replace(d, factor=d.factor * longest) for d in self._of(first))
        if op not in _KEEPS_VALUES:
            return ()
        kept = node.args[1:3] if op == "where" else node.args[:1]
        return tuple(derived for arg in kept for ref in iter_refs(arg) for derived in self._of(ref))

    def _affine(self, op: str, left: Arg, right: Arg) -> tuple[_Derived, ...]:
        if not self._of(left):
            if op == "sub" and self._of(right):
                return self._shift(tuple(derived.times(-1) for derived in self._of(right)), left, 1)
            left, right = right, left
        followed = self._of(left)
        if op == "mul":
            factor = right if isinstance(right, int) else 1  # a tensor that multiplies is taken for a mask of 0 and 1
            self._restrict(right, 2)
            return tuple(derived.times(factor) for derived in followed)
        if op == "sub" and (differences := _differences(followed, self._of(right))):
            return differences
        return self._shift(followed, right, -1 if op == "sub" else 1)

    def _shift(self, followed: tuple[_Derived, ...], by: Arg, sign: int) -> tuple[_Derived, ...]:
        values: tuple[Any, ...] = (0,)
        if isinstance(by, int):
            values = (by,)
        elif isinstance(by, TensorRef):
            values = self._graph.tensors[by.index].values or (0,)
        steps = [sign * int(value) for value in values]
        return tuple(replace(d, least=d.least + min(steps), most=d.most + max(steps)) for d in followed)

    def _bounded(self, node: Node, op: str, bound: Mapping[str, Arg]) -> Iterator[tuple[Arg, int]]:
        """Yield (indices, how many there are to choose from) of one call."""
        source = bound.get("input")
        if op in ("embedding", "embedding_bag"):
            yield source, self._shape(bound.get("weight"))[0]
        elif op in _TAKES_REGIONS:
            images, regions, *_ = (*node.args, None, None)
            yield regions, next(iter(self._shape(images)), 1)
        elif op == "one_hot" and isinstance(bound.get("num_classes"), int):
            yield source, int(bound["num_classes"])  # pyright: ignore[reportArgumentType]
        elif op in ("masked_fill", "masked_fill_"):
            yield bound.get("mask"), 1
        elif op in ("masked_scatter", "masked_scatter_"):
            if prod(self._shape(bound.get("source"))) < prod(self._shape(source)):
                yield bound.get("mask"), 1
        elif op in _BY_DIM:
            dim = bound.get("dim", 0)
            shape = self._shape(source)
            if isinstance(dim, int) and shape:
                yield bound.get(_BY_DIM[op]), shape[dim]
        elif op in ("getitem", "setitem"):
            yield from self._index_positions(self._shape(node.args[0]), node.args[1])
        elif op in ("index_put", "index_put_"):
            yield from self._index_positions(self._shape(source), _elements(bound.get("indices")))

    def _fixed(self, node: Node, op: str, bound: Mapping[str, Arg]) -> Iterator[tuple[Arg, int]]:
        """Yield (sizes, the one value that each element must have) of one call."""
        shape = self._shape(bound.get("input"))
        if op in _TAKES_SIZES:
            sizes = _elements(bound.get("size"))
            made = next((output.shape for output in node.outputs if not output.path), ())
            if len(made) == len(sizes):
                yield from zip(sizes, made, strict=True)
            elif op in ("view", "reshape"):
                yield from _size_left(sizes, prod(shape))
        elif op == "repeat_interleave" and isinstance(total := bound.get("output_size"), int):
            repeats = bound.get("repeats")
            num = prod(self._shape(repeats)) * (1 if self._shape(repeats) else prod(shape))
            if num and total % num == 0:
                yield repeats, total // num

    def _index_positions(self, shape: tuple[int, ...], index: Arg) -> Iterator[tuple[Arg, int]]:
        entries = index if isinstance(index, tuple) else (index,)
        num_taken = sum(map(self._num_dims, entries))
        dim = 0
        for entry in entries:
            if entry is ...:
                dim += len(shape) - num_taken
                continue
            if isinstance(entry, TensorRef | OpRef) and self._num_dims(entry) == 1 and dim < len(shape):
                yield entry, shape[dim]
            dim += self._num_dims(entry)

    def _num_dims(self, entry: Arg) -> int:
        """How many dimensions an entry of an index consumes: a mask as many as it has."""
        if entry is None or entry is ...:
            return 0
        if isinstance(entry, int | ArgSlice | ArgList) or not isinstance(entry, TensorRef | OpRef):
            return 1
        return len(self._shape(entry)) if self._dtype(entry) == "bool" else 1

    def _shape(self, arg: Arg) -> tuple[int, ...]:
        if isinstance(arg, TensorRef):
            return self._graph.tensors[arg.index].shape
        outputs = self._graph.nodes[arg.index].outputs if isinstance(arg, OpRef) else ()
        return next((o.shape for o in outputs if isinstance(arg, OpRef) and o.path == arg.path), ())

    def _dtype(self, ref: Ref) -> str:
        if isinstance(ref, TensorRef):
            return self._graph.tensors[ref.index].dtype
        return next((o.dtype for o in self._graph.nodes[ref.index].outputs if o.path == ref.path), "")

    def _restrict(self, indices: Arg, stop: int, least: int = 0) -> None:
        """Require least <= value < stop of each derived value that `indices` hold."""
        for derived in (d for ref in iter_refs(indices) for d in self._of(ref)):
            if derived.spread:
                room = max(min(derived.least - least, stop - 1 - derived.most), 0) // derived.spread
                self._widths[derived.tensor] = min(room, self._widths.get(derived.tensor, room))
            before = self._ranges.get(derived.tensor, IndexRange())
            top, bottom, factor = stop - 1 - derived.most, derived.least - least, derived.factor
            if factor > 0:
                low, high = -(bottom // factor), top // factor
            elif factor < 0:
                low, high = -(top // -factor), bottom // -factor
            else:
                continue
            high = max(high if before.high is None else min(high, before.high), 0)
            self._ranges[derived.tensor] = IndexRange(min(max(low, before.low), high), high)


def _elements(arg: Arg) -> tuple[Arg, ...]:
    return arg.elements if isinstance(arg, ArgList) else arg if isinstance(arg, tuple) else ()


def _size_left(sizes: tuple[Arg, ...], num_elements: int) -> Iterator[tuple[Arg, int]]:
    """Yield the one size of a view that is no literal, and what it must be."""
    known = prod(size for size in sizes if isinstance(size, int))
    unknown = [size for size in sizes if not isinstance(size, int)]
    if len(unknown) == 1 and known > 0 and num_elements % known == 0:
        yield unknown[0], num_elements // known


def _differences(left: tuple[_Derived, ...], right: tuple[_Derived, ...]) -> tuple[_Derived, ...]:
    """Return what subtracting values of one tensor from others of it makes; nothing where factors differ."""
    return tuple(
        _Derived(d.tensor, 0, d.least - taken.most, d.most - taken.least, abs(d.factor) + d.spread + taken.spread)
        for d in left
        for taken in right
        if d.tensor == taken.tensor and d.factor == taken.factor
    )
