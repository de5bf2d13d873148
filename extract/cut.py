"""A range of a graph's ops to a graph of its own (definitions.md section 3, *Cut*).

Inputs are the operands from outside by first use, outputs the values made inside and used at or after the end or
returned, by definition order. A tensor of the whole graph keeps its record; a value that an earlier op made becomes
an `input` of the piece. Pieces run in order, each fed from the ones before, compute what the whole computes.
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import dataclass
from itertools import pairwise

from extract.canonical import written_operands
from extract.graph import Graph, Node, OpRef, OutputMeta, Ref, TensorMeta, TensorRef, map_refs


class CutError(ValueError):
    """A range that is no subgraph of its own; `reason` is `mutates_boundary`, `empty_range` or `no_output`."""

    def __init__(self, reason: str, detail: str) -> None:
        super().__init__(reason, detail)
        self.reason = reason
        self.detail = detail


@dataclass(frozen=True, slots=True)
class Piece:
    """One cut: its graph, and which values of the whole graph its tensors and outputs are, in order."""

    graph: Graph
    operands: tuple[Ref, ...]
    results: tuple[Ref, ...]


@dataclass(frozen=True, slots=True)
class Outline:
    """A cut without its calls: which values of the whole graph it takes and leaves, and the records of the former."""

    operands: tuple[Ref, ...]
    results: tuple[Ref, ...]
    tensors: tuple[TensorMeta, ...]


class Cutter:
    """Cuts ranges out of one graph; what cuts share is found once, so each costs as much as its range."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._last_use: dict[OpRef, int] = {}
        self._refs = [tuple(node.refs()) for node in graph.nodes]
        for index, refs in enumerate(self._refs):
            self._last_use.update((ref, index) for ref in refs if isinstance(ref, OpRef))
        self._last_use.update((ref, len(graph.nodes)) for ref in graph.outputs if isinstance(ref, OpRef))
        self._used: list[list[OpRef]] = [[] for _ in graph.nodes]
        for ref in self._last_use:
            self._used[ref.index].append(ref)
        self._written = [written_operands(node) for node in graph.nodes]

    def cut(self, start: int, end: int, *, allow_mutation: bool = False) -> Piece:
        """Return ops [start, end) as a piece.

        Raises `CutError`: the range is empty, leaves nothing behind, or writes into a tensor made outside it. With
        `allow_mutation` the last two are cut all the same: run in order on the same tensors, pieces stay exact.
        """
        return self._piece(range(start, end), self._results(start, end, allow_mutation))

    def outline(self, start: int, end: int) -> Outline:
        """Return what ops [start, end) take and leave, as `cut` has it, without their calls; raises as it does."""
        results = self._results(start, end, False)
        operands = self._outside_operands(range(start, end), range(start, end))
        return Outline(operands, results, _tensor_records(self._graph, operands))

    def cut_ops(self, ops: Sequence[int], end: int) -> Piece:
        """Return the ops named (ascending, all before `end`) as a piece whose outputs are what is needed from `end` on.

        Unlike a range, it may leave out what an op between them needs. Raises `CutError` for a value without a record.
        """
        results = [ref for op in ops for ref in self._used[op] if self._last_use[ref] >= end]
        return self._piece(ops, tuple(sorted(results, key=_definition_order)))

    def _results(self, start: int, end: int, allow_mutation: bool) -> tuple[OpRef, ...]:
        num_ops = len(self._graph.nodes)
        if not 0 <= start < end <= num_ops:
            raise CutError("empty_range", f"[{start}, {end}) of {num_ops} ops")
        if not allow_mutation:
            self._refuse_mutation(start, end)
        results = self.live_results(start, end)
        if not results and not allow_mutation:
            raise CutError("no_output", f"nothing made in [{start}, {end}) is used later or returned")
        return results

    def _piece(self, ops: Sequence[int], results: tuple[OpRef, ...]) -> Piece:
        places = {op: place for place, op in enumerate(ops)}
        operands = self._outside_operands(ops, places)
        renamed: dict[Ref, Ref] = {ref: TensorRef(position) for position, ref in enumerate(operands)}
        nodes = tuple(_rename_node(self._graph.nodes[op], renamed, places) for op in ops)
        tensors = _tensor_records(self._graph, operands)
        outputs = tuple(_rename_ref(ref, renamed, places) for ref in results)
        return Piece(Graph(nodes, tensors, outputs), operands, results)

    def live_results(self, start: int, end: int) -> tuple[OpRef, ...]:
        """Return the values made in [start, end) that are used at or after `end` or returned, by definition order."""
        made = (ref for index in range(start, end) for ref in self._used[index])
        return tuple(sorted((ref for ref in made if self._last_use[ref] >= end), key=_definition_order))

    def is_live(self, ref: OpRef, end: int) -> bool:
        """Tell whether a value is needed at or after `end` or returned."""
        return self._last_use.get(ref, -1) >= end

    def is_connected(self, start: int, end: int) -> bool:
        """Tell whether the ops of [start, end) hang together by what they pass to each other, directions ignored."""
        leaders = list(range(end - start))

        def leader(op: int) -> int:
            while leaders[op] != op:
                leaders[op] = leaders[leaders[op]]
                op = leaders[op]
            return op

        for index in range(start, end):
            for ref in self._refs[index]:
                if isinstance(ref, OpRef) and ref.index >= start:
                    leaders[leader(index - start)] = leader(ref.index - start)
        return len({leader(op) for op in range(end - start)}) == 1

    def _outside_operands(self, ops: Sequence[int], inside: Container[int]) -> tuple[Ref, ...]:
        used = (ref for op in ops for ref in self._refs[op])
        return tuple(dict.fromkeys(ref for ref in used if type(ref) is TensorRef or ref.index not in inside))

    def _refuse_mutation(self, start: int, end: int) -> None:
        if not any(self._written[start:end]):
            return
        roots = self._storage_roots(start, end)
        for index in range(start, end):
            for ref in self._written[index]:
                if _root(ref, roots, start) is None:
                    detail = f"op {index} ({self._graph.nodes[index].op}) writes into a tensor made outside it"
                    raise CutError("mutates_boundary", f"[{start}, {end}): {detail}")

    def _storage_roots(self, start: int, end: int) -> dict[int, Ref | None]:
        """Map each op of the range to the value whose memory its result may share; None: memory of its own."""
        roots: dict[int, Ref | None] = {}
        for index in range(start, end):
            node = self._graph.nodes[index]
            shares = node.op in VIEW_OPS or bool(self._written[index])
            roots[index] = next(iter(self._refs[index]), None) if shares else None
        return roots


def cut(graph: Graph, start: int, end: int) -> Piece:
    """Return ops [start, end) of `graph` as a piece; raises `CutError` as `Cutter.cut` does."""
    return Cutter(graph).cut(start, end)


def cut_into(graph: Graph, boundaries: tuple[int, ...]) -> tuple[Piece, ...]:
    """Cut the whole graph at `boundaries` (ascending op indices); writes across a boundary are allowed."""
    cutter = Cutter(graph)
    edges = (0, *boundaries, len(graph.nodes))
    return tuple(cutter.cut(start, end, allow_mutation=True) for start, end in pairwise(edges))


def _definition_order(ref: OpRef) -> tuple[int, tuple[int, ...]]:
    return ref.index, ref.path


# Ops whose result may share memory with their first tensor operand.
VIEW_OPS = frozenset(
    "view reshape transpose permute t T mT H mH getitem expand expand_as squeeze unsqueeze flatten unflatten "
    "narrow select chunk split split_with_sizes unbind movedim diagonal detach data as_strided unfold view_as "
    "reshape_as broadcast_to contiguous to type float double half bfloat16 swapaxes real imag tensor_split vsplit "
    "hsplit dsplit view_as_real view_as_complex alias ravel adjoint atleast_1d atleast_2d atleast_3d dropout "
    "type_as pixel_unshuffle positive int long bool cpu cuda alpha_dropout dropout2d conj resolve_conj".split()
)

# Of these, views for certain; the others may copy, and so be part of a kernel.
PURE_VIEW_OPS = VIEW_OPS - frozenset(
    "reshape flatten contiguous to type float double half bfloat16 type_as long int bool cpu cuda ravel reshape_as "
    "dropout dropout2d alpha_dropout pixel_unshuffle positive conj resolve_conj".split()
)


def _root(ref: Ref, roots: dict[int, Ref | None], start: int) -> OpRef | None:
    """Follow a value to the op of the range that owns its memory; None when that lies outside."""
    while isinstance(ref, OpRef) and ref.index >= start:
        shared = roots.get(ref.index)
        if shared is None:
            return ref
        ref = shared
    return None


def _tensor_records(graph: Graph, operands: tuple[Ref, ...]) -> tuple[TensorMeta, ...]:
    records: list[TensorMeta] = []
    taken: set[str] = {graph.tensors[ref.index].name for ref in operands if isinstance(ref, TensorRef)}
    for ref in operands:
        if isinstance(ref, TensorRef):
            records.append(graph.tensors[ref.index])
            continue
        name = "_".join(["in", str(ref.index), *map(str, ref.path)])
        while name in taken:
            name += "_"
        taken.add(name)
        meta = output_meta(graph, ref)
        records.append(TensorMeta(name, "input", "", meta.shape, meta.stride, meta.dtype))
    return tuple(records)


def output_meta(graph: Graph, ref: OpRef) -> OutputMeta:
    """Return the recorded shape, stride and dtype of a value; raises `CutError` when the graph records none."""
    for output in graph.nodes[ref.index].outputs:
        if output.path == ref.path:
            return output
    raise CutError("no_output", f"op {ref.index} ({graph.nodes[ref.index].op}) records no output at {ref.path}")


def _rename_node(node: Node, renamed: dict[Ref, Ref], places: dict[int, int]) -> Node:
    def rename(ref: Ref) -> Ref:
        return _rename_ref(ref, renamed, places)

    args = tuple(map_refs(arg, rename) for arg in node.args)
    kwargs = tuple((name, map_refs(value, rename)) for name, value in node.kwargs)
    return Node(node.op, node.target, args, kwargs, node.outputs)


def _rename_ref(ref: Ref, renamed: dict[Ref, Ref], places: dict[int, int]) -> Ref:
    if ref in renamed:
        return renamed[ref]
    if isinstance(ref, TensorRef):
        raise CutError("no_output", f"tensor {ref.index} is not an operand of the range")
    return OpRef(places[ref.index], ref.path)
