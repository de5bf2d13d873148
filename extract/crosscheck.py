"""One model traced by both tracers: are they the same program, and if not, why.

The function mode's trace is the one that a corpus stores; Dynamo traces the same model on seeded random weights. A
program may ask whether it is being compiled, and Dynamo answers yes, so the two are compared under three conditions
in turn, until the graphs are equal: `eager` (each as it is), `eager_judged` (Dynamo answers no) and `compiling`
(our trace answers yes). In-place and out-of-place are never the same op.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import Literal

from extract.compiling import answering, dynamo_denies_compiling
from extract.differences import Cause, explain_difference
from extract.dynamo_tracer import Part, capture_parts
from extract.failure import Reason, SubjectError
from extract.graph import Graph
from extract.hashing import GraphHashes, hash_graph
from extract.model_tracing import trace_prepared
from extract.outputs import compare_outputs
from extract.real_model import RealModel
from extract.sources import Preparation, prepare

Conditions = Literal["eager", "eager_judged", "compiling"]

# Places that ask whether they are compiled, tried one by one for their part in a difference: each costs one trace.
_MAX_PLACES = 12
_DETAIL_CHARS = 1000


@dataclass(frozen=True, slots=True)
class CrosscheckConfig:
    """How to compare. `max_params` (a count of elements) refuses larger models: weights and activations are real."""

    max_params: int | None = 400_000_000
    batch_size: int = 1
    seed: int = 0


@dataclass(frozen=True, slots=True)
class Crosscheck:
    """What came of one model; a row of `crosschecks`.

    `equal_...` hold under `conditions`, the first under which the graphs are equal, else the op sequences (several
    parts of Dynamo in a row), else the last tried; null where a tracer failed. `equal_output` compares the replays of
    both graphs bit for bit, `max_rel_diff` is the largest relative difference between them, `equal_eager` tells
    whether the stored graph gives what the module itself gives. `num_ops_...` count the traces as they are,
    `num_breaks` the parts of Dynamo's less one. `cause` is null where the graphs are equal under `eager`. `seconds`
    is wall time.
    """

    model_id: str
    equal_graph: bool | None = None
    equal_structure: bool | None = None
    equal_ops: bool | None = None
    equal_output: bool | None = None
    max_rel_diff: float | None = None
    equal_eager: bool | None = None
    conditions: Conditions | None = None
    cause: Cause | None = None
    detail: str | None = None
    num_ops_function: int | None = None
    num_ops_dynamo: int | None = None
    num_breaks: int | None = None
    seconds: float | None = None


@dataclass(frozen=True, slots=True)
class _Pair:
    """Our graph and Dynamo's parts under one condition."""

    conditions: Conditions
    ours: Graph
    parts: list[Part]
    hashes: GraphHashes

    @property
    def equal_graph(self) -> bool:
        return len(self.parts) == 1 and hash_graph(self.parts[0].graph).graph_sha256 == self.hashes.graph_sha256

    @property
    def equal_structure(self) -> bool:
        return len(self.parts) == 1 and hash_graph(self.parts[0].graph).structure_sha256 == self.hashes.structure_sha256

    @property
    def equal_ops(self) -> bool:
        return self.ours.op_names == tuple(op for part in self.parts for op in part.graph.op_names)


def crosscheck(model_id: str, config: CrosscheckConfig | None = None) -> Crosscheck:
    """Trace a model with both tracers and compare; raises `SubjectError` where it cannot be built or is too large."""
    config, started = config or CrosscheckConfig(), time.perf_counter()
    found = _Check(model_id, config).run()
    detail = found.detail and found.detail[:_DETAIL_CHARS]
    return replace(found, detail=detail, seconds=time.perf_counter() - started)


class _Check:
    def __init__(self, model_id: str, config: CrosscheckConfig) -> None:
        self._model_id = model_id
        self._config = config
        # Too large a model is refused before its weights take memory.
        prepare(model_id, Preparation("meta", config.seed, config.batch_size, config.max_params))
        preparation = Preparation("random", config.seed, config.batch_size, config.max_params)
        self._real = RealModel(prepare(model_id, preparation), config.seed)

    def run(self) -> Crosscheck:
        row = Crosscheck(self._model_id)
        try:
            eager, places = self._trace(lambda place: False)
        except SubjectError as error:
            return replace(row, cause="function_mode_failed", detail=f"{error.reason}: {error.detail}")
        row = replace(row, num_ops_function=len(eager.nodes))
        try:
            parts = self._capture()
        except SubjectError as error:
            return self._judged_only(row, eager, places, f"{error.reason}: {error.detail}")
        num_ops = sum(len(part.graph.nodes) for part in parts)
        row = replace(row, num_ops_dynamo=num_ops, num_breaks=len(parts) - 1)
        pair = _Pair("eager", eager, parts, hash_graph(eager))
        if pair.equal_graph:
            return self._filled(row, pair, eager)
        return self._explained(row, pair, places)

    def _judged_only(self, row: Crosscheck, eager: Graph, places: list[str], failure: str) -> Crosscheck:
        """Where Dynamo fails on the compiled program, let it judge the eager one."""
        failed = replace(row, cause="dynamo_failed", detail=failure)
        if not places:
            return failed
        try:
            with dynamo_denies_compiling():
                pair = _Pair("eager_judged", eager, self._capture(), hash_graph(eager))
        except SubjectError:
            return failed
        if not pair.equal_graph:
            return replace(failed, detail=f"{failure}; judging eager: {explain_difference(eager, pair.parts)[1]}")
        detail = f"asks whether it is compiled at {self._deciding_places(eager, places)}; Dynamo then fails: {failure}"
        return replace(self._filled(row, pair, eager), cause="branches_on_compiling", detail=detail)

    def _explained(self, row: Crosscheck, pair: _Pair, places: list[str]) -> Crosscheck:
        """Look for conditions under which the two are equal, and say what made the difference."""
        others = self._other_conditions(pair) if places else []
        tried = [pair, *others]
        best = next((each for each in tried if each.equal_graph), None)
        best = best or next((each for each in tried if each.equal_ops), tried[-1])
        row = self._filled(row, best, pair.ours)
        asks = f"asks whether it is compiled at {self._deciding_places(pair.ours, places)}" if others else ""
        if best.equal_graph:
            return replace(row, cause="branches_on_compiling", detail=asks)
        cause, detail = explain_difference(best.ours, best.parts)
        return replace(row, cause=cause, detail=f"{detail}; it also {asks}" if asks else detail)

    def _other_conditions(self, eager: _Pair) -> list[_Pair]:
        """The pairs under `eager_judged` and `compiling`; none when the answer makes no difference to our trace."""
        try:
            compiling, _ = self._trace(lambda place: True)
        except SubjectError:
            return []
        hashes = hash_graph(compiling)
        if hashes.graph_sha256 == eager.hashes.graph_sha256:
            return []
        last = _Pair("compiling", compiling, eager.parts, hashes)
        try:
            with dynamo_denies_compiling():
                judged = _Pair("eager_judged", eager.ours, self._capture(), eager.hashes)
        except SubjectError:
            return [last]
        return [judged, last]

    def _deciding_places(self, eager: Graph, places: list[str]) -> str:
        """The places whose answer alone changes our trace; all that asked where none does alone."""
        before = hash_graph(eager).graph_sha256
        deciding: list[str] = []
        for place in places[:_MAX_PLACES]:
            try:
                graph, _ = self._trace(lambda asking, place=place: asking == place)
            except SubjectError:
                continue
            if hash_graph(graph).graph_sha256 != before:
                deciding.append(place)
        return ", ".join(deciding or places)

    def _trace(self, answer: Callable[[str], bool]) -> tuple[Graph, list[str]]:
        """Our trace, as a corpus stores it but for the answers; and the places that asked."""
        with ExitStack() as stack:
            places = stack.enter_context(answering(answer))
            try:
                preparation = Preparation("meta", self._config.seed, self._config.batch_size)
                graph = trace_prepared(prepare(self._model_id, preparation)).graph
            except SubjectError as error:
                if error.reason is not Reason.DATA_DEPENDENT:
                    raise
                graph = trace_prepared(self._real.pristine()).graph
        return graph, places

    def _capture(self) -> list[Part]:
        prepared = self._real.pristine()
        inputs = prepared.make_inputs(self._config.seed)
        return capture_parts(prepared.module, inputs.args, inputs.kwargs, subject=self._model_id, captures_values=True)

    def _filled(self, row: Crosscheck, pair: _Pair, eager: Graph) -> Crosscheck:
        output = compare_outputs(self._real, eager, pair.ours, pair.parts)
        return replace(
            row,
            equal_graph=pair.equal_graph,
            equal_structure=pair.equal_structure,
            equal_ops=pair.equal_ops,
            conditions=pair.conditions,
            equal_output=output.equal_output,
            max_rel_diff=output.max_rel_diff,
            equal_eager=output.equal_eager,
        )
