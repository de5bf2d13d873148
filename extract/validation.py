"""A stored graph to its verdicts: is it what the dataset promises? (definitions.md section 2, paper appendix A)

Levels: `static` by text alone, `fake` on meta tensors (shapes and dtypes, no values). A verdict's level is the one at
which it was reached: text-only checks stay `static` when `fake` is asked for. Everything works on what was stored
(text, node rows, hashes), never on the traced object. Runs ops, so it belongs into a sandboxed child.
"""

from __future__ import annotations

import contextlib
import json
import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

import torch

from extract.canonical import written_operands
from extract.custom_op_registration import NotRegistered, register_alone
from extract.custom_ops import CustomOp, custom_targets, forbidden_import
from extract.custom_schemas import declare_schema
from extract.cut import VIEW_OPS, CutError, cut_into
from extract.graph import Graph, Ref, TensorMeta, TensorRef
from extract.hashing import GraphHashes, hash_graph
from extract.literals import arguments_json
from extract.model_ref import ValueRead
from extract.replay import replay
from extract.sample import SampleError, graph_from_files, sample_files
from extract.shape_memo import ShapeMemo
from extract.spelling import UnknownCallable
from extract.text import TextError, parse

Level = Literal["static", "fake"]
Outcome = Literal["passed", "failed", "not_applicable"]

NUM_CUTS = 3  # seeded cuts per graph (definitions.md section 2, *decomposable*)
MAX_PIECES = 8
MIN_PIECE_OPS = 2


@dataclass(frozen=True, slots=True)
class Constraint:
    """One verdict: the check, its outcome and level; reason and detail where it failed or does not apply."""

    constraint: str
    outcome: Outcome
    level: Level
    reason: str | None = None
    detail: str | None = None
    seconds: float | None = None


@dataclass(frozen=True, slots=True)
class StoredGraph:
    """A graph as its rows tell it: rebuilt from the text, beside the calls and hashes stored apart from the text.

    `calls` holds (op, target, arguments as `extract.literals` writes them) of each row of `nodes`.
    """

    graph: Graph
    text: str
    calls: tuple[tuple[str, str, str], ...]
    hashes: GraphHashes
    value_reads: tuple[ValueRead, ...] = ()
    custom_ops: tuple[CustomOp, ...] = ()


class _Failed(Exception):
    def __init__(self, reason: str, detail: str, outcome: Outcome = "failed") -> None:
        super().__init__(reason, detail)
        self.reason = reason
        self.detail = detail
        self.outcome: Outcome = outcome


def validate(stored: StoredGraph, level: Level) -> list[Constraint]:
    """Return the verdicts that `level` can give, in the order of definitions.md; one graph's faults never raise."""
    _declare_schemas(stored.custom_ops)
    checks: list[tuple[str, Level, Callable[[StoredGraph], None]]] = [
        ("serializable", "static", _check_serializable),
        ("statically_analyzable", "static", _check_statically_analyzable),
        ("custom_op_accessible", level, _check_custom_op_accessible),
        ("specialised", "static", _check_specialised),
    ]
    if level == "fake":
        checks = [("runnable", "fake", _check_runnable), ("decomposable", "fake", _check_decomposable), *checks]
    return [_verdict(stored, *check) for check in checks]


def meta_operands(tensors: Sequence[TensorMeta]) -> list[torch.Tensor]:
    """Return one valueless tensor per record, in its shape, stride and dtype."""
    return [
        torch.empty_strided(meta.shape, meta.stride, dtype=getattr(torch, meta.dtype), device="meta")
        for meta in tensors
    ]


def run_pieces(
    graph: Graph, boundaries: tuple[int, ...], operands: Sequence[torch.Tensor], memo: ShapeMemo | None = None
) -> list[torch.Tensor]:
    """Run the pieces of `graph` in order, each fed from those before, and return the whole's outputs."""
    values: dict[Ref, torch.Tensor] = {TensorRef(index): tensor for index, tensor in enumerate(operands)}
    device = operands[0].device if operands else None
    for piece in cut_into(graph, boundaries):
        made = replay(piece.graph, [values[ref] for ref in piece.operands], device, memo)
        values.update(zip(piece.results, made, strict=True))
    return [values[ref] for ref in graph.outputs]


def choose_cuts(graph: Graph, seed: str) -> list[tuple[int, ...]]:
    """Return `NUM_CUTS` boundary lists, a function of graph and seed; one falls right after a view or in-place op."""
    num_ops = len(graph.nodes)
    draw = random.Random(seed)
    most = min(MAX_PIECES, num_ops // MIN_PIECE_OPS)
    cuts = [_draw_boundaries(draw, num_ops, draw.randint(2, most)) for _ in range(NUM_CUTS)]
    shared = [
        index + 1
        for index, node in enumerate(graph.nodes)
        if MIN_PIECE_OPS <= index + 1 <= num_ops - MIN_PIECE_OPS and (node.op in VIEW_OPS or written_operands(node))
    ]
    if shared and not any(boundary in shared for boundaries in cuts for boundary in boundaries):
        cuts[0] = (draw.choice(shared),)
    return cuts


def _declare_schemas(ops: Sequence[CustomOp]) -> None:
    """Declare what the ops write into; a schema that is none fails `custom_op_accessible`, which compares it."""
    for op in ops:
        with contextlib.suppress(ValueError):
            declare_schema(op.name, op.schema or "")


def _verdict(stored: StoredGraph, name: str, level: Level, check: Callable[[StoredGraph], None]) -> Constraint:
    started = time.perf_counter()
    try:
        check(stored)
    except _Failed as failed:
        return Constraint(name, failed.outcome, level, failed.reason, failed.detail, time.perf_counter() - started)
    return Constraint(name, "passed", level, seconds=time.perf_counter() - started)


def _check_runnable(stored: StoredGraph) -> None:
    graph = stored.graph
    made = _facts(_run(lambda: replay(graph, meta_operands(graph.tensors), memo=_replayed())))
    recorded = [_recorded_facts(graph, ref) for ref in graph.outputs]
    if made != recorded:
        raise _Failed("outputs_differ", f"replay gives {made}, the record says {recorded}"[:500])


def _check_decomposable(stored: StoredGraph) -> None:
    graph = stored.graph
    if len(graph.nodes) < 2 * MIN_PIECE_OPS:
        raise _Failed("too_few_ops", f"{len(graph.nodes)} ops make no two pieces", "not_applicable")
    whole = _facts(_run(lambda: replay(graph, meta_operands(graph.tensors), memo=_replayed())))
    for boundaries in choose_cuts(graph, stored.hashes.signature_sha256):
        pieces = _facts(_run(lambda at=boundaries: run_pieces(graph, at, meta_operands(graph.tensors), _replayed())))
        if pieces != whole:
            raise _Failed("pieces_differ", f"cut at {boundaries}: outputs {pieces} instead of {whole}")


def _check_serializable(stored: StoredGraph) -> None:
    if hash_graph(stored.graph) != stored.hashes:
        raise _Failed("hash_changed", "the graph read back from its row has other hashes than the row")
    try:
        files = sample_files(stored.graph, hashes=stored.hashes)
        json.loads(files["graph_net.json"])
        back = graph_from_files(files)
    except (SampleError, TextError, ValueError) as error:
        raise _Failed("not_serializable", f"{type(error).__name__}: {error}") from error
    if repr(back) != repr(stored.graph):  # repr: nan equals nan, and 1 is not 1.0
        raise _Failed("files_differ", _first_difference(back, stored.graph))


def _check_statically_analyzable(stored: StoredGraph) -> None:
    try:
        read = parse(stored.text, stored.graph.tensors)
    except TextError as error:
        raise _Failed("text_unreadable", str(error)) from error
    calls = [(node.op, node.target, arguments_json(node)) for node in read.nodes]
    for index, (found, recorded) in enumerate(zip(calls, stored.calls, strict=False)):
        if found != recorded:
            raise _Failed("text_differs", f"op {index}: the text says {found}, the record {recorded}"[:500])
    if len(calls) != len(stored.calls):
        raise _Failed("text_differs", f"the text holds {len(calls)} ops, the record {len(stored.calls)}")


def _check_custom_op_accessible(stored: StoredGraph) -> None:
    targets = custom_targets(stored.graph)
    if not targets:
        raise _Failed("no_custom_op", "every op is torch's own", "not_applicable")
    sources: dict[str, list[CustomOp]] = {}
    for op in stored.custom_ops:
        sources.setdefault(_accessible_source(op), []).append(op)
    try:
        for source, ops in sources.items():
            register_alone(source, ops)
    except NotRegistered as error:
        raise _Failed("source_does_not_register", str(error)[:500]) from error
    called = {".".join(target.split(".")[2:4]) for target in targets if target.startswith("torch.ops.")}
    if missing := called - {op.name for op in stored.custom_ops}:
        raise _Failed("source_unavailable", f"no record of {', '.join(sorted(missing))}")


def _accessible_source(op: CustomOp) -> str:
    if op.source is None:
        raise _Failed("source_unavailable", f"{op.name} was not registered from a Python file")
    try:
        module = forbidden_import(op.source)
    except SyntaxError as error:
        raise _Failed("source_unavailable", f"{op.name}: the source is not Python: {error}") from error
    if module is not None:
        raise _Failed("forbidden_import", f"{op.name}: its source imports {module}"[:500])
    return op.source


def _check_specialised(stored: StoredGraph) -> None:
    reads = [read for read in stored.value_reads if read.depends_on_input]
    if reads:
        first = reads[0]
        detail = f"{len(reads)} reads of input values, the first {first.method} at op {first.op_index}"
        raise _Failed("value_read", detail)


def _run(run: Callable[[], Sequence[torch.Tensor]]) -> Sequence[torch.Tensor]:
    try:
        return run()
    except UnknownCallable as error:
        raise _Failed("op_not_allowed", str(error)) from error
    except CutError as error:
        raise _Failed(error.reason, error.detail) from error
    except Exception as error:  # foreign graph: what torch raises is the finding
        raise _Failed("raised", f"{type(error).__name__}: {' '.join(str(error).split())[:400]}") from error


def _facts(outputs: Sequence[torch.Tensor]) -> list[tuple[tuple[int, ...], str]]:
    return [(tuple(output.shape), str(output.dtype)) for output in outputs]


@lru_cache(maxsize=1)
def _replayed() -> ShapeMemo:
    """What replays in this process have run, apart from what traces have: a replay vouches for itself."""
    return ShapeMemo()


def _recorded_facts(graph: Graph, ref: Ref) -> tuple[tuple[int, ...], str]:
    if isinstance(ref, TensorRef):
        meta = graph.tensors[ref.index]
        return meta.shape, f"torch.{meta.dtype}"
    for output in graph.nodes[ref.index].outputs:
        if output.path == ref.path:
            return output.shape, f"torch.{output.dtype}"
    raise _Failed("outputs_differ", f"op {ref.index} records no output at {ref.path}")


def _draw_boundaries(draw: random.Random, num_ops: int, num_pieces: int) -> tuple[int, ...]:
    """Draw ascending boundaries that leave each piece at least `MIN_PIECE_OPS` ops."""
    spare = num_ops - num_pieces * MIN_PIECE_OPS
    marks = sorted(draw.randint(0, spare) for _ in range(num_pieces - 1))
    return tuple(mark + (position + 1) * MIN_PIECE_OPS for position, mark in enumerate(marks))


def _first_difference(found: Graph, expected: Graph) -> str:
    pairs = zip((*found.nodes, *found.tensors), (*expected.nodes, *expected.tensors), strict=False)
    for left, right in pairs:
        if repr(left) != repr(right):
            return f"{left!r} instead of {right!r}"[:500]
    return "different numbers of ops, tensors or outputs"
