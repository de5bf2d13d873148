"""A row of the shape configs to the inputs that a model takes for it, decided by what it records in float32.

A row is kept where the op names stay those of the model's own sizes. Tried in turn: the same module with inputs of the
new sizes; a module built for them; rows of table `batch_only` that nothing else uses. Where even the last changes the
ops, its graph is kept and says so.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from extract.failure import Reason, SubjectError
from extract.graph import Graph
from extract.index_bounds import out_of_bounds
from extract.model_ref import ModelRef
from extract.model_tracing import describe_use
from extract.module_state import ModuleState
from extract.program_prefix import OpsDiffer, find_prefix
from extract.reruns import Deadline, Reruns
from extract.shape_configs import BATCH_ONLY, CONFIGS, HELD_OUT, Resize, Sizes, choose_table, load_table, scale_sizes
from extract.sources import Prepared

# Trials without a success after which a model is taken to refuse a way altogether: one trial of a size may fail for
# that size's own sake (half a window), three will not. The rows with whole factors come first.
_MAX_VAIN_TRIALS = 3
_MAX_STAND_INS = 3  # trials of batch_only rows for one row


@dataclass(frozen=True, slots=True)
class Program:
    """A traced program, or its first ops (`is_prefix`), and whether these are the ops of the model's own sizes in
    float32, by name, as far as they go. `refusal`: why it ends before the ops that were asked for."""

    graph: Graph
    is_prefix: bool
    has_same_ops: bool
    refusal: str | None = None


@dataclass(frozen=True, slots=True)
class Choice:
    """What stands for a row: a module and its inputs, the module's state before any run, and the program in float32."""

    shape_config: int
    table: str
    prepared: Prepared
    state: ModuleState
    is_rebuilt: bool
    program: Program


@dataclass(frozen=True, slots=True)
class _Candidate:
    table: str
    sizes: Sizes
    is_rebuilt: bool = False


class Chooser:
    """Chooses inputs for rows, each with other sizes than those before; one build serves all rows where it can.

    The model is built and traced at its own sizes at once; raises `SubjectError` where that fails. `num_ops`: so many
    of its ops are asked for; other traces end there, and rows are judged by them.
    """

    def __init__(
        self,
        model_id: str,
        max_params: int | None = None,
        deadline: Deadline | None = None,
        num_ops: int | None = None,
    ) -> None:
        self._model_id = model_id
        self._reruns = Reruns(model_id, max_params, deadline or Deadline())
        self._prepared, self._state, recording = self._reruns.begin()
        self._own = self._prepared.sizes
        table = choose_table(self._prepared.model.modalities or (), self._own)
        self._prefix = None if num_ops is None else find_prefix(recording.calls, recording.results, num_ops)
        self._op_names = recording.graph.op_names
        program = Program(recording.graph, False, True)
        self._base = Choice(0, table, self._prepared, self._state, False, program)
        self._seen = {_key(self._own)}
        self._vain = {False: 0, True: 0}

    @property
    def model(self) -> ModelRef:
        """The model's record, with what its program uses."""
        return describe_use(self._prepared, [self._base.program.graph])

    def trace(self, prepared: Prepared, state: ModuleState) -> Program:
        """Trace a module as far as its ops are asked for, or whole where they are not those of the model's own sizes;
        raises `SubjectError`."""
        if self._prefix is not None:
            try:
                return Program(self._reruns.trace(prepared, state, self._prefix).graph, True, True)
            except OpsDiffer:
                pass
        graph = self._reruns.trace(prepared, state).graph
        return Program(graph, False, graph.op_names == self._op_names)

    def choose(self, config: int) -> Choice | SubjectError:
        """Return what stands for a row, or why nothing does (shape_refused, duplicate_config, timeout)."""
        if config == 0:
            return self._base
        kept: Choice | None = None
        refusals: list[str] = []
        for candidate in self._candidates(config):
            choice = self._try(config, candidate)
            if isinstance(choice, SubjectError) and choice.reason is Reason.TIMEOUT:
                return kept or choice
            if isinstance(choice, SubjectError):
                refusals.append(f"{choice.reason}: {choice.detail}")
                continue
            if choice.program.has_same_ops:
                return choice
            if kept is None or choice.table == BATCH_ONLY:
                kept = choice
            if not self._changes_more_than_batch(candidate.sizes):
                break
        if kept is not None:
            return kept
        if refusals:
            return SubjectError(self._model_id, Reason.SHAPE_REFUSED, refusals[0])
        return SubjectError(self._model_id, Reason.DUPLICATE_CONFIG, f"sizes {dict(self._own)} have no such variants")

    def _candidates(self, config: int) -> Iterator[_Candidate]:
        """Yield what to try for a row, best first; a size that was tried before is not tried for another row."""
        own = self._sizes_of(self._base.table, config)
        if own is not None:
            if self._vain[False] < _MAX_VAIN_TRIALS or not self._changes_more_than_batch(own):
                yield _Candidate(self._base.table, own)
            if self._changes_more_than_batch(own) and self._vain[True] < _MAX_VAIN_TRIALS:
                yield _Candidate(self._base.table, own, is_rebuilt=True)
        trials = 0
        for row in self._stand_ins(config):
            sizes = self._sizes_of(BATCH_ONLY, row)
            if sizes is not None and trials < _MAX_STAND_INS:
                trials += 1
                yield _Candidate(BATCH_ONLY, sizes)

    def _stand_ins(self, config: int) -> Sequence[int]:
        """Return the rows of `batch_only` that may stand for a row, that of its own batch first: no other row of its
        table has it, so that parts of the program that see the batch alone differ too."""
        if config in HELD_OUT:
            return (config,)
        tables = load_table()
        batch = tables[self._base.table][config].get("batch")
        return sorted(CONFIGS[1:], key=lambda row: tables[BATCH_ONLY][row].get("batch") != batch)

    def _changes_more_than_batch(self, sizes: Sizes) -> bool:
        return bool(Resize(self._own, sizes).changed - {"batch"})

    def _sizes_of(self, table: str, row: int) -> Sizes | None:
        """Return a row's sizes; None where they are no whole numbers or were tried before."""
        try:
            sizes = scale_sizes(self._own, load_table()[table][row])
        except ValueError:
            return None
        return None if _key(sizes) in self._seen else sizes

    def _try(self, config: int, candidate: _Candidate) -> Choice | SubjectError:
        self._seen.add(_key(candidate.sizes))
        choice = self._trace(config, candidate)
        if self._changes_more_than_batch(candidate.sizes):
            is_vain = isinstance(choice, SubjectError) or not choice.program.has_same_ops
            self._vain[candidate.is_rebuilt] = self._vain[candidate.is_rebuilt] + 1 if is_vain else -(1 << 30)
        return choice

    def _trace(self, config: int, candidate: _Candidate) -> Choice | SubjectError:
        try:
            if candidate.is_rebuilt:
                prepared, state = self._reruns.build(Resize(self._own, candidate.sizes))
            elif self._prepared.with_sizes is None:
                return SubjectError(self._model_id, Reason.SHAPE_REFUSED, "its source makes inputs of one size alone")
            else:
                prepared, state = self._prepared.with_sizes(candidate.sizes), self._state
            program = self.trace(prepared, state)
        except SubjectError as failure:
            return failure
        if beyond := out_of_bounds(program.graph):
            return SubjectError(self._model_id, Reason.SHAPE_REFUSED, beyond)
        return Choice(config, candidate.table, prepared, state, candidate.is_rebuilt, program)


def _key(sizes: Sizes) -> tuple[tuple[str, int], ...]:
    return tuple(sorted(sizes.items()))
