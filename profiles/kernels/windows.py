"""Which few ops before a position tell what its op adds to the kernel count, and the key that such a window goes by.

K(P) - K(P-1) is read from two counts of the last ops before P, with and without op P-1. Three rules say how far back
a window must reach (kernel-curve-facts.md section 3): R1, over every op that could share a kernel with the new one; R2,
with the constants that its ops are computed from; R3, under the layout decision of the whole prefix. Windows begin at
library calls, so that equal layers have equal windows. Pure: reads graphs, loads no torch.
"""

from __future__ import annotations

import hashlib
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import accumulate
from typing import Any

from extract.canonical import is_random, written_operands
from extract.cut import output_meta
from extract.graph import REFS, Arg, ArgList, ArgSlice, Graph, OpRef, Ref, TensorRef
from profiles.kernels.inlining import find_inlined
from profiles.kernels.layout_decision import decide_by_flop
from profiles.kernels.op_classes import EXTERN_OPS, is_convolution, is_view

Strides = Mapping[OpRef, tuple[int, ...]]


@dataclass(frozen=True, slots=True)
class WindowConfig:
    """How far back windows reach, in ops: over `num_externs` library calls or `context` ops, whichever is shorter, at
    least `min_ops`; a position whose rules ask for more than `cap` is counted in full. Checks reach back `wide` ops."""

    num_externs: int = 1
    min_ops: int = 2
    context: int = 16
    cap: int = 128
    wide: int = 64


@dataclass(frozen=True, slots=True)
class StoredValues:
    """What the plan of a whole graph shows of the values that its ops return (tuples apart): by op, whether it is not
    stored but computed again by what reads it; and the strides of those that are, seen through views."""

    inlined: Mapping[int, bool]
    strides: Strides


@dataclass(frozen=True, slots=True)
class Window:
    """Ops (ascending) as of position `end`, within a prefix whose layout is optimised (None: Inductor decides).

    `has_conv` says whether a layout decision matters to its own ops.
    """

    ops: tuple[int, ...]
    end: int
    layout_opt: bool | None = None
    has_conv: bool = True

    @property
    def forced(self) -> bool | None:
        """The layout decision to impose, None: none."""
        return self.layout_opt if self.has_conv else None

    @property
    def is_prefix(self) -> bool:
        """Whether all ops before `end` are there."""
        return len(self.ops) == self.end

    def without_last(self) -> Window:
        """Return the window as of the position before, without its last op, under the same layout decision."""
        return replace(self, ops=self.ops[:-1], end=self.end - 1)


class WindowChooser:
    """Chooses the windows of one graph; what they share is found once."""

    def __init__(
        self,
        graph: Graph,
        target: str,
        config: WindowConfig | None = None,
        stored: StoredValues | None = None,
        moved: Set[OpRef] = frozenset(),
    ) -> None:
        """`moved` are values that lie otherwise under an optimised layout than in eager mode: outputs are copies."""
        self._graph = graph
        self._moved = moved
        known = stored.inlined if stored else {}
        self._inlined = [known.get(op, guess) for op, guess in enumerate(find_inlined(graph, target))]
        self._config = config or WindowConfig()
        nodes = graph.nodes
        self._is_extern = [node.op in EXTERN_OPS for node in nodes]
        self._externs = [index for index, flag in enumerate(self._is_extern) if flag]
        self._written = [written_operands(node) for node in nodes]
        self._operands = [tuple(dict.fromkeys(node.refs())) for node in nodes]
        self._find_roots()
        self._find_ancestors()

    def window(self, position: int, layout_opt: bool | None = None) -> Window | None:
        """Return the window that ends with op `position - 1`, None where the rules ask for the whole prefix."""
        op = position - 1
        first = self._first_of_component(op)
        if first is None:
            return None
        ended = self._first_of_ended(op, bool(layout_opt))
        if ended < first:
            takes_ops = any(isinstance(ref, OpRef) for ref in self._operands[ended])
            first = self._extern_before(ended) if takes_ops else ended
        if layout_opt and self._is_conv[op]:
            first = min(first, self._convolution_before(op))  # what leads to a convolution prefers to be channels-last
        start = self._start_with_makers(min(first, self._usual_start(op)), op)
        constants = self._constants_before(start, op)
        if len(constants) + position - start > self._config.cap and start > 0:
            return None
        return self._made((*constants, *range(start, position)), position, layout_opt)

    def prefix(self, position: int) -> Window:
        """Return all ops before `position`."""
        return Window(tuple(range(position)), position)

    def wide_window(self, position: int, layout_opt: bool | None = None) -> Window:
        """Return a window of at least `wide` ops, or the prefix where it is shorter."""
        start = self._wide_start(position)
        ops = (*self._constants_before(start, position - 1), *range(start, position))
        return self._made(ops, position, layout_opt)

    def span(self, start: int, end: int, layout_opt: bool | None = None) -> tuple[Window, Window]:
        """Return two windows that begin with the same op, at least `wide` ops before `start` where there are as many:
        one as of each position."""
        first = self._wide_start(start)
        if first == 0:
            return self.prefix(start), self.prefix(end)
        constants = self._constants_before(first, end - 1)
        windows = (self._made((*constants, *range(first, at)), at, layout_opt) for at in (start, end))
        return next(windows), next(windows)

    def _wide_start(self, position: int) -> int:
        bound = position - self._config.wide
        at = bisect_left(self._externs, bound + 1) - 1
        return max(self._externs[at] if at >= 0 else bound, bound - self._config.context, 0)

    def num_convolutions(self, position: int) -> int:
        """Return how many convolutions stand before a position."""
        return self._convolutions_before[position]

    def num_operands_added(self, position: int) -> int:
        """Return how many of the graph's tensors op `position - 1` is the first to take."""
        return self._operands_added[position - 1]

    @cached_property
    def _convolutions_before(self) -> list[int]:
        return [0, *accumulate(int(flag) for flag in self._is_conv)]

    @cached_property
    def _operands_added(self) -> list[int]:
        seen: set[Ref] = set()
        added: list[int] = []
        for operands in self._operands:
            new = {ref for ref in operands if isinstance(ref, TensorRef)} - seen
            seen |= new
            added.append(len(new))
        return added

    def _made(self, ops: tuple[int, ...], end: int, layout_opt: bool | None) -> Window:
        return Window(ops, end, layout_opt, any(self._is_conv[op] for op in ops))

    @cached_property
    def _is_conv(self) -> list[bool]:
        return [is_convolution(node) for node in self._graph.nodes]

    def _usual_start(self, op: int) -> int:
        config = self._config
        before = bisect_left(self._externs, op)
        start = self._externs[before - config.num_externs] if before >= config.num_externs else 0
        return max(min(max(start, op + 1 - config.context), op + 1 - config.min_ops), 0)

    def _find_roots(self) -> None:
        """Find, by value, the value whose memory it may share, and by such a root the ops that touch it."""
        self._root: dict[Ref, Ref] = {}
        self._touching: dict[Ref, list[int]] = {}
        self._touched: list[tuple[Ref, ...]] = []
        self._last_use: dict[Ref, int] = {}
        self._own_last_use: dict[Ref, int] = {}
        for index, node in enumerate(self._graph.nodes):
            operands = self._operands[index]
            roots = dict.fromkeys(self._root.get(ref, ref) for ref in operands)
            if operands and (is_view(node) or self._written[index]):
                shared = self._root.get(operands[0], operands[0])
                self._root[OpRef(index)] = shared
                self._root.update({OpRef(index, output.path): shared for output in node.outputs})
            else:
                roots[OpRef(index)] = None
                self._root.update({OpRef(index, output.path): OpRef(index) for output in node.outputs if output.path})
            self._last_use.update((root, index) for root in roots)
            self._own_last_use.update((ref, index) for ref in operands)
            self._touched.append(tuple(roots))
            if not self._is_extern[index] and not is_view(node, for_certain=True):
                for root in roots:
                    self._touching.setdefault(root, []).append(index)

    def _find_ancestors(self) -> None:
        """Find, as bitsets, each op's ancestors, and those that a library call among them keeps apart from it."""
        self._ancestors: list[int] = []
        self._apart: list[int] = []
        self._constant: list[bool] = []
        self._of_weights: list[bool] = []
        for index, node in enumerate(self._graph.nodes):
            producers = {ref.index for ref in self._operands[index] if isinstance(ref, OpRef)}
            above = apart = 0
            for producer in producers:
                above |= self._ancestors[producer] | (1 << producer)
                apart |= self._apart[producer]
                if self._is_extern[producer]:
                    apart |= self._ancestors[producer] | (1 << producer)
            self._ancestors.append(above)
            self._apart.append(apart)
            takes_tensor = any(isinstance(ref, TensorRef) for ref in self._operands[index])
            is_constant = not takes_tensor and all(self._constant[producer] for producer in producers)
            self._constant.append(is_constant and not is_random(node) and bool(node.outputs))
            tensors = (self._graph.tensors[ref.index] for ref in self._operands[index] if isinstance(ref, TensorRef))
            takes_weights = all(tensor.kind == "parameter" for tensor in tensors)
            self._of_weights.append(takes_weights and all(self._of_weights[producer] for producer in producers))

    def _first_of_component(self, op: int) -> int | None:
        """Return the first op that might share a kernel with `op`, in steps; None beyond the cap."""
        if is_view(self._graph.nodes[op], for_certain=True):
            return op
        apart, bound = self._apart[op], op + 1 - self._config.cap
        member, pending = {op}, [op]
        first = min([op, *(root.index for root in self._written_roots(op))])
        while pending:
            for root in self._touched[pending.pop()]:
                for other in self._touching.get(root, ()):
                    if other >= op:
                        break
                    if other not in member and not apart >> other & 1 and not self._constant[other]:
                        member.add(other)
                        pending.append(other)
                        first = min(first, other)
                        if first < bound:
                            return None
        return first if first >= bound else None

    def _written_roots(self, op: int) -> Iterator[OpRef]:
        """Yield the values that an op writes into in place, made by ops."""
        for ref in self._written[op]:
            root = self._root.get(ref, ref)
            if isinstance(root, OpRef):
                yield root

    def _first_of_ended(self, op: int, layout_opt: bool) -> int:
        """Return the first op that made a value that only `op` still needs: it ceases to be an output. So does a view
        of which an output would be a copy."""
        first = op
        for ref in self._operands[op]:
            root = self._root.get(ref, ref)
            if isinstance(root, OpRef) and not self._constant[root.index]:
                is_copied = layout_opt and ref in self._moved
                if self._last_use.get(root, op) <= op or (is_copied and self._own_last_use[ref] <= op):
                    first = min(first, root.index)
        return first

    def _start_with_makers(self, start: int, op: int) -> int:
        """Return a start that takes in what made values that say too little alone.

        Values that are not stored: what reads them computes them, and is stored or not by how much that reads. From
        `start` on, views that a convolution takes, or of what one returns: by their makers they are copied or not. And
        values written in place, which a program would have to copy back to its operand.
        """
        asked, index = start, op
        while index >= start:
            start = min([start, *(root.index for root in self._written_roots(index))])
            for place, ref in enumerate(self._operands[index]):
                if isinstance(ref, OpRef) and ref.index < start:
                    if self._inlined[ref.index]:
                        start = ref.index
                    elif index >= asked:
                        start = min(start, self._first_for_layout(index, place, ref))
            index -= 1
        return start

    def _first_for_layout(self, index: int, place: int, ref: OpRef) -> int:
        """Return the first op that tells how an operand of op `index` lies in memory, `index` where it needs none."""
        if self._is_conv[index] and self._is_view(ref):
            if place and self._of_weights[ref.index]:
                return self._first_ancestor(ref.index)
            return self._extern_before(ref.index)
        root = self._root.get(ref, ref)
        return root.index if self._is_laid_out_by_its_operand(root, ref) else index

    def _first_ancestor(self, op: int) -> int:
        ancestors = self._ancestors[op]
        return (ancestors & -ancestors).bit_length() - 1 if ancestors else op

    def _convolution_before(self, op: int) -> int:
        before = self._convolutions_before[op]
        return self._convolutions[before - 1] if before else op

    @cached_property
    def _convolutions(self) -> list[int]:
        return [index for index, flag in enumerate(self._is_conv) if flag]

    def _is_view(self, ref: Ref) -> bool:
        return isinstance(ref, OpRef) and is_view(self._graph.nodes[ref.index])

    def _is_laid_out_by_its_operand(self, root: Ref, ref: Ref) -> bool:
        """Tell whether a value is what a convolution returns, seen through a view or made of one."""
        if not isinstance(root, OpRef) or not self._is_conv[root.index]:
            return False
        return self._is_view(ref) or self._is_view(self._operands[root.index][0])

    def _extern_before(self, op: int) -> int:
        at = bisect_left(self._externs, op + 1) - 1
        return self._externs[at] if at >= 0 else 0

    def _constants_before(self, start: int, op: int) -> tuple[int, ...]:
        """Return the ops before `start` that compute constants which ops from there to `op` need."""
        found: set[int] = set()
        pending = list(range(start, op + 1))
        while pending:
            for ref in self._operands[pending.pop()]:
                is_before = isinstance(ref, OpRef) and ref.index < start
                if is_before and self._constant[ref.index] and ref.index not in found:
                    found.add(ref.index)
                    pending.append(ref.index)
        return tuple(sorted(found))


def moved_values(graph: Graph, strides: Strides) -> frozenset[OpRef]:
    """Return the values whose strides are not those recorded, sizes of one left out."""
    found: set[OpRef] = set()
    for index, node in enumerate(graph.nodes):
        for made in node.outputs:
            ref = OpRef(index, made.path)
            placed = zip(made.shape, made.stride, strides.get(ref, made.stride), strict=True)
            if any(size > 1 and recorded != now for size, recorded, now in placed):
                found.add(ref)
    return frozenset(found)


def lies_far_from_guesses(graph: Graph, target: str, optimised: Strides) -> bool:
    """Tell whether layouts depend on ops far apart, so that guesses from eager mode are often wrong: a convolution
    takes a view, or images in an optimised layout are read as tokens."""
    if not any(decide_by_flop(graph, target)):
        return False
    takers = (next(node.refs(), None) for node in graph.nodes if is_convolution(node))
    if any(isinstance(ref, OpRef) and is_view(graph.nodes[ref.index]) for ref in takers):
        return True
    return any(len(output_meta(graph, ref).shape) not in _IMAGE_RANKS for ref in moved_values(graph, optimised))


_IMAGE_RANKS = (4, 5)


class WindowKeys:
    """Keys of the windows of one graph: equal keys, equal programs on operands of equal shape, stride and dtype.

    `context` (target, torch version, algorithm) is part of a key; `optimised` holds the strides that values have within
    a plan whose layout is optimised.
    """

    def __init__(self, graph: Graph, context: str, optimised: Strides) -> None:
        self._graph = graph
        self._context = context
        self._optimised = optimised
        self._calls: list[tuple[bytes, tuple[Ref, ...]]] = []
        self._last_use: dict[Ref, int] = {}
        for index, node in enumerate(graph.nodes):
            refs: list[Ref] = []
            kwargs = [(name, _spelled(value, refs)) for name, value in node.kwargs]
            call = (node.target, [_spelled(arg, refs) for arg in node.args], kwargs)
            self._calls.append((repr(call).encode(), tuple(refs)))
            self._last_use.update((ref, index) for ref in refs)
        self._last_use.update((ref, len(graph.nodes)) for ref in graph.outputs)
        self._used: list[list[OpRef]] = [[] for _ in graph.nodes]
        for ref in self._last_use:
            if isinstance(ref, OpRef):
                self._used[ref.index].append(ref)

    def key(self, window: Window) -> str:
        """Return 32 hexadecimal characters; raises `CutError` for an operand without a record."""
        places = {op: place for place, op in enumerate(window.ops)}
        outside: dict[Ref, int] = {}
        digest = hashlib.blake2b(f"{self._context}|{window.forced}".encode(), digest_size=16)
        for op in window.ops:
            call, refs = self._calls[op]
            digest.update(call)
            names = [self._name(ref, places, outside, window) for ref in refs]
            live = [(ref.path, self._kept_stride(ref)) for ref in self._used[op] if self._last_use[ref] >= window.end]
            digest.update(repr((names, sorted(live))).encode())
        return digest.hexdigest()

    def stride_of(self, ref: OpRef, window: Window) -> tuple[int, ...]:
        """Return the strides that a value from before a window has in it.

        One that is needed after the window too is an output, and lies as eager mode would have it, unless a library
        call made it, whose result is copied for that. So do images where their layout is not optimised; what is made of
        them is stored row by row all the same.
        """
        made = output_meta(self._graph, ref)
        made_by = self._graph.nodes[ref.index]
        is_kept = self._last_use[ref] >= window.end and made_by.op not in EXTERN_OPS and not is_view(made_by)
        is_image = not window.layout_opt and len(made.shape) in _IMAGE_RANKS
        return made.stride if is_kept or is_image else self._optimised.get(ref, made.stride)

    def _kept_stride(self, ref: OpRef) -> tuple[int, ...]:
        return output_meta(self._graph, ref).stride

    def _name(self, ref: Ref, places: dict[int, int], outside: dict[Ref, int], window: Window) -> Any:
        if isinstance(ref, OpRef) and ref.index in places:
            return places[ref.index], ref.path
        if ref in outside:
            return outside[ref]
        outside[ref] = len(outside)
        if isinstance(ref, TensorRef):
            meta = self._graph.tensors[ref.index]
            return outside[ref], meta.shape, meta.stride, meta.dtype, meta.kind == "parameter"
        made = output_meta(self._graph, ref)
        return outside[ref], made.shape, made.stride, self.stride_of(ref, window), made.dtype


def _spelled(arg: Arg, refs: list[Ref]) -> Any:
    """Return an argument with its refs taken out, in order, into `refs`."""
    if isinstance(arg, REFS):
        refs.append(arg)
        return "\0"
    if isinstance(arg, tuple):
        return tuple(_spelled(element, refs) for element in arg)
    if isinstance(arg, ArgList):
        return ["list", *(_spelled(element, refs) for element in arg.elements)]
    if isinstance(arg, ArgSlice):
        return "slice", *(_spelled(bound, refs) for bound in (arg.start, arg.stop, arg.step))
    return arg
