"""Why two traces of one model differ: the first cause that accounts for the whole difference."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

from extract.assembly import renumber
from extract.canonical import bind, mutated_operands
from extract.dynamo_tracer import Part
from extract.graph import Graph, Node, OpRef, Ref, TensorRef, iter_refs
from extract.hashing import graph_lines

Cause = Literal[
    "branches_on_compiling",
    "graph_break",
    "dynamo_failed",
    "function_mode_failed",
    "dynamo_constant_folds",
    "different_spelling",
    "dead_code",
    "unexplained",
]
_MAX_LINES = 4
_FROM_NUMBERS = frozenset({"tensor", "new_tensor", "as_tensor"})


def explain_difference(ours: Graph, parts: Sequence[Part]) -> tuple[Cause, str]:
    """Return cause and detail of a difference between our graph and Dynamo's parts, which are not equal."""
    reasons = [part.break_reason for part in parts if part.break_reason]
    if len(parts) > 1:
        return "graph_break", f"{len(parts)} parts; {reasons[0] if reasons else 'functions compiled apart'}"
    theirs = parts[0].graph
    detail = differing_lines(ours, theirs)
    if _contents(ours) == _contents(theirs):
        return "different_spelling", detail
    if graph_lines(_without_effects(ours)) == graph_lines(_without_effects(theirs)):
        return "dead_code", detail
    if _varying_ops(ours) == _varying_ops(theirs):
        return "dynamo_constant_folds", detail
    return "unexplained", detail


def differing_lines(ours: Graph, theirs: Graph) -> str:
    """Return the first lines that only one graph has (`-` ours, `+` Dynamo's), in one line of text."""
    mine, others = graph_lines(ours), graph_lines(theirs)
    first = next((index for index, pair in enumerate(zip(mine, others, strict=False)) if pair[0] != pair[1]), 0)
    names = difflib.SequenceMatcher(None, ours.op_names, theirs.op_names, autojunk=False)
    changes = [change for change in names.get_opcodes() if change[0] != "equal"][:_MAX_LINES]
    told = [
        f"op {start}: -{' '.join(ours.op_names[start:end][:8])} +{' '.join(theirs.op_names[begin:stop][:8])}"
        for _, start, end, begin, stop in changes
    ]
    return "; ".join([*told, f"line {first}: - {mine[first][:160]} + {others[first][:160]}"])


def _contents(graph: Graph) -> list[tuple[bool, list[str], list[str]]]:
    """What each call is about whatever its spelling: whether it mutates, what it reads, its literals, in no order."""
    numbers: dict[TensorRef, int] = {}
    contents: list[tuple[bool, list[str], list[str]]] = []
    for node in graph.nodes:
        if node.op in _FROM_NUMBERS:  # Dynamo writes `x.new_tensor(0.1)` as `torch.tensor(0.1, dtype=...)`
            contents.append((False, [], [repr(arg) for arg in node.args if not list(iter_refs(arg))][:1]))
            continue
        operands = [
            f"tensor {numbers.setdefault(ref, len(numbers))}" if isinstance(ref, TensorRef) else str(ref)
            for ref in node.refs()
        ]
        literals = [repr(value) for _, value in bind(node)[1] if not list(iter_refs(value))]
        contents.append((bool(mutated_operands(node)), sorted(operands), sorted(literals)))
    return contents


def _without_effects(graph: Graph) -> Graph:
    """What the outputs are computed from: in-place and random calls stay only where their results are used."""
    used = {ref.index for ref in graph.outputs if isinstance(ref, OpRef)}
    for index in range(len(graph.nodes) - 1, -1, -1):
        if index in used:
            used.update(ref.index for ref in graph.nodes[index].refs() if isinstance(ref, OpRef))
    numbers = {old: new for new, old in enumerate(sorted(used))}

    def moved(ref: Ref) -> Ref:
        return OpRef(numbers[ref.index], ref.path) if isinstance(ref, OpRef) else ref

    nodes: list[Node] = []
    for node in (graph.nodes[index] for index in numbers):
        refs = {ref: moved(ref) for ref in node.refs()}
        args = tuple(renumber(arg, refs) for arg in node.args)
        nodes.append(replace(node, args=args, kwargs=tuple((name, renumber(arg, refs)) for name, arg in node.kwargs)))
    return Graph(tuple(nodes), graph.tensors, tuple(moved(ref) for ref in graph.outputs))


def _varying_ops(graph: Graph) -> list[str]:
    """The names of the ops that depend on a tensor from outside which is not itself a constant."""
    varying: set[int] = set()
    for index, node in enumerate(graph.nodes):
        if any(_varies(graph, ref, varying) for ref in node.refs()):
            varying.add(index)
    return [graph.nodes[index].op for index in sorted(varying)]


def _varies(graph: Graph, ref: Ref, varying: set[int]) -> bool:
    if isinstance(ref, TensorRef):
        return graph.tensors[ref.index].kind != "constant"
    return ref.index in varying
