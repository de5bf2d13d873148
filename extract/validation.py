"""A stored graph to its verdicts: is it what the dataset promises? (definitions.md section 2, paper appendix A)

Levels: `static` by text alone, `fake` on meta tensors (shapes and dtypes, no values), `real` on seeded real ones
(`extract.real_validation`). A verdict's level is the one at which it was reached: text-only checks stay `static` when
`fake` is asked for. Everything works on what was stored (text, node rows, hashes), never on the traced object. Runs
ops, so it belongs into a sandboxed child.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Sequence
from functools import lru_cache, partial

import torch

from extract.budget import RealBudget
from extract.custom_op_registration import NotRegistered, register_alone
from extract.custom_ops import CustomOp, custom_targets, forbidden_import
from extract.custom_schemas import declare_schema
from extract.graph import Graph
from extract.hashing import hash_graph
from extract.literals import arguments_json
from extract.operands import meta_operands
from extract.pieces import MIN_PIECE_OPS, choose_cuts, run_pieces
from extract.real_validation import validate_on_real
from extract.replay import replay
from extract.sample import SampleError, graph_from_files, sample_files
from extract.shape_memo import ShapeMemo
from extract.text import TextError, parse
from extract.verdicts import (
    CheckFailed,
    Constraint,
    Level,
    StoredGraph,
    judge,
    output_facts,
    recorded_facts,
    run_checked,
)


def validate(stored: StoredGraph, level: Level, budget: RealBudget | None = None) -> list[Constraint]:
    """Return the verdicts that `level` can give, in the order of definitions.md; one graph's faults never raise.

    `real` gives those that gain from values (runnable, decomposable), within `budget`; the others are `fake`'s.
    """
    _declare_schemas(stored.custom_ops)
    if level == "real":
        return validate_on_real(stored, budget or RealBudget())
    checks: list[tuple[str, Level, Callable[[StoredGraph], None]]] = [
        ("serializable", "static", _check_serializable),
        ("statically_analyzable", "static", _check_statically_analyzable),
        ("custom_op_accessible", level, _check_custom_op_accessible),
        ("specialised", "static", _check_specialised),
    ]
    if level == "fake":
        checks = [("runnable", "fake", _check_runnable), ("decomposable", "fake", _check_decomposable), *checks]
    return [judge(name, at, partial(check, stored)) for name, at, check in checks]


def _declare_schemas(ops: Sequence[CustomOp]) -> None:
    """Declare what the ops write into; a schema that is none fails `custom_op_accessible`, which compares it."""
    for op in ops:
        with contextlib.suppress(ValueError):
            declare_schema(op.name, op.schema or "")


def _check_runnable(stored: StoredGraph) -> None:
    graph = stored.graph
    made = output_facts(run_checked(lambda: replay(graph, meta_operands(graph.tensors), memo=_replayed())))
    recorded = [recorded_facts(graph, ref) for ref in graph.outputs]
    if made != recorded:
        raise CheckFailed("outputs_differ", f"replay gives {made}, the record says {recorded}"[:500])


def _check_decomposable(stored: StoredGraph) -> None:
    graph = stored.graph
    if len(graph.nodes) < 2 * MIN_PIECE_OPS:
        raise CheckFailed("too_few_ops", f"{len(graph.nodes)} ops make no two pieces", "not_applicable")
    whole = output_facts(run_checked(lambda: replay(graph, meta_operands(graph.tensors), memo=_replayed())))
    for boundaries in choose_cuts(graph, stored.hashes.signature_sha256):
        pieces = output_facts(run_checked(partial(_run_cut, graph, boundaries)))
        if pieces != whole:
            raise CheckFailed("pieces_differ", f"cut at {boundaries}: outputs {pieces} instead of {whole}")


def _run_cut(graph: Graph, boundaries: tuple[int, ...]) -> Sequence[torch.Tensor]:
    return run_pieces(graph, boundaries, meta_operands(graph.tensors), _replayed())


def _check_serializable(stored: StoredGraph) -> None:
    if hash_graph(stored.graph) != stored.hashes:
        raise CheckFailed("hash_changed", "the graph read back from its row has other hashes than the row")
    try:
        files = sample_files(stored.graph, hashes=stored.hashes)
        json.loads(files["graph_net.json"])
        back = graph_from_files(files)
    except (SampleError, TextError, ValueError) as error:
        raise CheckFailed("not_serializable", f"{type(error).__name__}: {error}") from error
    if repr(back) != repr(stored.graph):  # repr: nan equals nan, and 1 is not 1.0
        raise CheckFailed("files_differ", _first_difference(back, stored.graph))


def _check_statically_analyzable(stored: StoredGraph) -> None:
    try:
        read = parse(stored.text, stored.graph.tensors)
    except TextError as error:
        raise CheckFailed("text_unreadable", str(error)) from error
    calls = [(node.op, node.target, arguments_json(node)) for node in read.nodes]
    for index, (found, recorded) in enumerate(zip(calls, stored.calls, strict=False)):
        if found != recorded:
            raise CheckFailed("text_differs", f"op {index}: the text says {found}, the record {recorded}"[:500])
    if len(calls) != len(stored.calls):
        raise CheckFailed("text_differs", f"the text holds {len(calls)} ops, the record {len(stored.calls)}")


def _check_custom_op_accessible(stored: StoredGraph) -> None:
    targets = custom_targets(stored.graph)
    if not targets:
        raise CheckFailed("no_custom_op", "every op is torch's own", "not_applicable")
    sources: dict[str, list[CustomOp]] = {}
    for op in stored.custom_ops:
        sources.setdefault(_accessible_source(op), []).append(op)
    try:
        for source, ops in sources.items():
            register_alone(source, ops)
    except NotRegistered as error:
        raise CheckFailed("source_does_not_register", str(error)[:500]) from error
    called = {".".join(target.split(".")[2:4]) for target in targets if target.startswith("torch.ops.")}
    if missing := called - {op.name for op in stored.custom_ops}:
        raise CheckFailed("source_unavailable", f"no record of {', '.join(sorted(missing))}")


def _accessible_source(op: CustomOp) -> str:
    if op.source is None:
        raise CheckFailed("source_unavailable", f"{op.name} was not registered from a Python file")
    try:
        module = forbidden_import(op.source)
    except SyntaxError as error:
        raise CheckFailed("source_unavailable", f"{op.name}: the source is not Python: {error}") from error
    if module is not None:
        raise CheckFailed("forbidden_import", f"{op.name}: its source imports {module}"[:500])
    return op.source


def _check_specialised(stored: StoredGraph) -> None:
    reads = [read for read in stored.value_reads if read.depends_on_input]
    if reads:
        first = reads[0]
        detail = f"{len(reads)} reads of input values, the first {first.method} at op {first.op_index}"
        raise CheckFailed("value_read", detail)


@lru_cache(maxsize=1)
def _replayed() -> ShapeMemo:
    """What replays in this process have run, apart from what traces have: a replay vouches for itself."""
    return ShapeMemo()


def _first_difference(found: Graph, expected: Graph) -> str:
    pairs = zip((*found.nodes, *found.tensors), (*expected.nodes, *expected.tensors), strict=False)
    for left, right in pairs:
        if repr(left) != repr(right):
            return f"{left!r} instead of {right!r}"[:500]
    return "different numbers of ops, tensors or outputs"
