"""A range of a graph's ops to a graph of its own (definitions.md section 3, *Cut*).

Inputs are the operands from outside by first use, outputs the values made inside and used at or after the end or
returned, by definition order. A tensor of the whole graph keeps its record; a value that an earlier op made becomes
an `input` of the piece. Pieces run in order, each fed from the ones before, compute what the whole computes.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

from extract.canonical import written_operands
from extract.graph import Arg, ArgList, ArgSlice, Graph, Node, OpRef, OutputMeta, Ref, TensorMeta, TensorRef


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


def cut(graph: Graph, start: int, end: int, *, allow_mutation: bool = False) -> Piece:
    """Return ops [start, end) of `graph` as a piece.

    Raises `CutError`: the range is empty, leaves nothing behind, or writes into a tensor made outside it. With
    `allow_mutation` such a range is cut all the same: run in order on the same tensors, pieces stay exact.
    """
    if not 0 <= start < end <= len(graph.nodes):
        raise CutError("empty_range", f"[{start}, {end}) of {len(graph.nodes)} ops")
    if not allow_mutation:
        _refuse_mutation(graph, start, end)
    results = live_results(graph, start, end)
    if not results:
        raise CutError("no_output", f"nothing made in [{start}, {end}) is used later or returned")
    operands = _outside_operands(graph, start, end)
    renamed: dict[Ref, Ref] = {ref: TensorRef(position) for position, ref in enumerate(operands)}
    nodes = tuple(_rename_node(node, renamed, start) for node in graph.nodes[start:end])
    tensors = _tensor_records(graph, operands)
    outputs = tuple(_rename_ref(ref, renamed, start) for ref in results)
    return Piece(Graph(nodes, tensors, outputs), operands, results)


def cut_into(graph: Graph, boundaries: tuple[int, ...]) -> tuple[Piece, ...]:
    """Cut the whole graph at `boundaries` (ascending op indices); writes across a boundary are allowed."""
    edges = (0, *boundaries, len(graph.nodes))
    pieces: list[Piece] = []
    for start, end in pairwise(edges):
        pieces.append(_cut_or_effect(graph, start, end))
    return tuple(pieces)


def live_results(graph: Graph, start: int, end: int) -> tuple[Ref, ...]:
    """Return the values made in [start, end) that are used at or after `end` or returned, by definition order."""
    later = [ref for node in graph.nodes[end:] for ref in node.refs()]
    used = {ref for ref in (*later, *graph.outputs) if isinstance(ref, OpRef) and start <= ref.index < end}
    return tuple(sorted(used, key=_definition_order))


def _definition_order(ref: OpRef) -> tuple[int, tuple[int, ...]]:
    return ref.index, ref.path


def _cut_or_effect(graph: Graph, start: int, end: int) -> Piece:
    try:
        return cut(graph, start, end, allow_mutation=True)
    except CutError as error:
        if error.reason != "no_output":
            raise
    operands = _outside_operands(graph, start, end)
    renamed: dict[Ref, Ref] = {ref: TensorRef(position) for position, ref in enumerate(operands)}
    nodes = tuple(_rename_node(node, renamed, start) for node in graph.nodes[start:end])
    return Piece(Graph(nodes, _tensor_records(graph, operands), ()), operands, ())


def _refuse_mutation(graph: Graph, start: int, end: int) -> None:
    roots = _storage_roots(graph, start, end)
    for index in range(start, end):
        for ref in written_operands(graph.nodes[index]):
            if _root(ref, roots, start) is None:
                detail = f"op {index} ({graph.nodes[index].op}) writes into a tensor made outside [{start}, {end})"
                raise CutError("mutates_boundary", detail)


# Ops whose result may share memory with their first tensor operand.
VIEW_OPS = frozenset(
    "view reshape transpose permute t T mT H mH getitem expand expand_as squeeze unsqueeze flatten unflatten "
    "narrow select chunk split split_with_sizes unbind movedim diagonal detach data as_strided unfold view_as "
    "reshape_as broadcast_to contiguous to type float double half bfloat16 swapaxes real imag tensor_split vsplit "
    "hsplit dsplit view_as_real view_as_complex alias ravel adjoint atleast_1d atleast_2d atleast_3d dropout "
    "type_as pixel_unshuffle positive int long bool cpu cuda alpha_dropout dropout2d conj resolve_conj".split()
)


def _storage_roots(graph: Graph, start: int, end: int) -> dict[int, Ref | None]:
    """Map each op of the range to the value whose memory its result may share; None: memory of its own."""
    roots: dict[int, Ref | None] = {}
    for index in range(start, end):
        node = graph.nodes[index]
        first = next(node.refs(), None)
        shares = node.op in VIEW_OPS or bool(written_operands(node))
        roots[index] = first if shares else None
    return roots


def _root(ref: Ref, roots: dict[int, Ref | None], start: int) -> OpRef | None:
    """Follow a value to the op of the range that owns its memory; None when that lies outside."""
    while isinstance(ref, OpRef) and ref.index >= start:
        shared = roots.get(ref.index)
        if shared is None:
            return ref
        ref = shared
    return None


def _outside_operands(graph: Graph, start: int, end: int) -> tuple[Ref, ...]:
    seen: dict[Ref, None] = {}
    for node in graph.nodes[start:end]:
        for ref in node.refs():
            if isinstance(ref, TensorRef) or ref.index < start:
                seen.setdefault(ref)
    return tuple(seen)


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


def _rename_node(node: Node, renamed: dict[Ref, Ref], start: int) -> Node:
    args = tuple(_rename(arg, renamed, start) for arg in node.args)
    kwargs = tuple((name, _rename(value, renamed, start)) for name, value in node.kwargs)
    return Node(node.op, node.target, args, kwargs, node.outputs)


def _rename(arg: Arg, renamed: dict[Ref, Ref], start: int) -> Arg:
    if isinstance(arg, TensorRef | OpRef):
        return _rename_ref(arg, renamed, start)
    if isinstance(arg, tuple):
        return tuple(_rename(element, renamed, start) for element in arg)
    if isinstance(arg, ArgList):
        return ArgList(tuple(_rename(element, renamed, start) for element in arg.elements))
    if isinstance(arg, ArgSlice):
        return ArgSlice(*(_rename(bound, renamed, start) for bound in (arg.start, arg.stop, arg.step)))
    return arg


def _rename_ref(ref: Ref, renamed: dict[Ref, Ref], start: int) -> Ref:
    if ref in renamed:
        return renamed[ref]
    if isinstance(ref, TensorRef):
        raise CutError("no_output", f"tensor {ref.index} is not an operand of the range")
    return OpRef(ref.index - start, ref.path)
