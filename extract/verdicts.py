"""What a check says of a stored graph, and the border at which a check ends: the nouns that every level shares."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import torch

from extract.custom_ops import CustomOp
from extract.cut import CutError
from extract.failure import Reason, describe, is_starved
from extract.graph import Graph, Ref, TensorRef
from extract.hashing import GraphHashes
from extract.model_ref import ValueRead
from extract.spelling import UnknownCallable

Level = Literal["static", "fake", "real"]
Facts = tuple[tuple[int, ...], str]
Outcome = Literal["passed", "failed", "not_applicable"]


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


class CheckFailed(Exception):
    """A check's end other than a pass; `outcome` is `not_applicable` where there was nothing to check."""

    def __init__(self, reason: str, detail: str, outcome: Outcome = "failed") -> None:
        super().__init__(reason, detail, outcome)
        self.reason = reason
        self.detail = detail
        self.outcome: Outcome = outcome


def judge(name: str, level: Level, check: Callable[[], str | None]) -> Constraint:
    """Run a check and return its verdict; what the check returns is the detail of a pass."""
    started = time.perf_counter()
    try:
        detail = check()
    except CheckFailed as failed:
        return Constraint(name, failed.outcome, level, failed.reason, failed.detail, time.perf_counter() - started)
    return Constraint(name, "passed", level, detail=detail, seconds=time.perf_counter() - started)


def run_checked(run: Callable[[], Sequence[torch.Tensor]]) -> Sequence[torch.Tensor]:
    """Return what `run` returns; whatever it raises is the check's finding."""
    try:
        return run()
    except UnknownCallable as error:
        raise CheckFailed("op_not_allowed", str(error)) from error
    except CutError as error:
        raise CheckFailed(error.reason, error.detail) from error
    except CheckFailed:
        raise
    except Exception as error:  # foreign code: what torch raises on a foreign graph is the finding
        reason = str(Reason.OUT_OF_MEMORY) if is_starved(error) else "raised"
        raise CheckFailed(reason, describe(error)) from error


def output_facts(outputs: Sequence[torch.Tensor]) -> list[Facts]:
    """Return shape and dtype of each output."""
    return [(tuple(output.shape), str(output.dtype)) for output in outputs]


def recorded_facts(graph: Graph, ref: Ref) -> Facts:
    """Return shape and dtype that a graph records of a value; raises `CheckFailed` when it records none."""
    if isinstance(ref, TensorRef):
        meta = graph.tensors[ref.index]
        return meta.shape, f"torch.{meta.dtype}"
    for output in graph.nodes[ref.index].outputs:
        if output.path == ref.path:
            return output.shape, f"torch.{output.dtype}"
    raise CheckFailed("outputs_differ", f"op {ref.index} records no output at {ref.path}")
