"""A stored graph against the model it came from: replayed on the model's own tensors, is it the model, bit for bit?

The model is built with seeded random weights and run eagerly on two inputs that differ in seed, scale and shift
(integers in seed); the stored graph is replayed beside it. Its operands are
- inputs: the arguments of the same name (as the tracer names them);
- parameters and buffers: the model's own, by `original_name`, as they were before the eager run;
- constants: the stored values; where a record holds none (64 elements or more), the model's attribute of that name,
  else what a trace of the real module on the same arguments lifts under that name.
"""

from __future__ import annotations

import copy
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch.utils._pytree import tree_map

from extract.budget import RealBudget
from extract.failure import Reason, SubjectError
from extract.graph import TensorMeta
from extract.operands import stored_operand
from extract.real_validation import OVER_BUDGET, check_budget, largest_difference
from extract.replay import replay
from extract.sources import Inputs, Preparation, Prepared, prepare
from extract.tensor_identity import attribute_tensors
from extract.tracer import flatten_tensors, named_arguments, trace_module
from extract.verdicts import CheckFailed, Constraint, StoredGraph, judge, run_checked

VALUE_READ = "value_read"
_RANDOM_STATE = 0


@dataclass(frozen=True, slots=True)
class InputCase:
    """One input of the comparison: floating arguments, drawn from `seed`, are multiplied and shifted."""

    seed: int
    scale: float
    shift: float


INPUT_CASES = (InputCase(1, 1.0, 0.0), InputCase(2, 0.5, 0.7))


@dataclass(frozen=True, slots=True)
class FidelityConfig:
    """How a model is compared; `max_params` (elements) refuses larger ones, None any size."""

    budget: RealBudget = field(default_factory=RealBudget)
    max_params: int | None = None
    cases: tuple[InputCase, ...] = INPUT_CASES


def check_fidelity(stored: StoredGraph, model_id: str, config: FidelityConfig | None = None) -> Constraint:
    """Return the verdict `fidelity` at level `real`; its detail names the model, which may be one of several sources.

    Not applicable where no source names the model, or where it was captured or imported. Failed for the reasons of
    `prepare`, and: `raised` (by the model or the replay), `operand_unknown`, `not_deterministic` (the model differs
    from itself), `value_read` (the trace branched on values of its input), `outputs_differ`.
    """
    return judge("fidelity", "real", lambda: _compare_all(stored, model_id, config or FidelityConfig()))


def _compare_all(stored: StoredGraph, model_id: str, config: FidelityConfig) -> str:
    check_budget(stored.graph, config.budget)
    prepared = _prepare(model_id, config)
    for case in config.cases:
        _Comparison(stored, prepared, _vary(prepared.make_inputs(case.seed), case)).run()
    return f"{model_id}: bit-identical on {len(config.cases)} inputs"


def _prepare(model_id: str, config: FidelityConfig) -> Prepared:
    seed = zlib.crc32(model_id.encode())
    try:
        return prepare(model_id, Preparation(weights="random", seed=seed, max_params=config.max_params))
    except SubjectError as error:
        if error.reason == Reason.OVER_MAX_PARAMS:
            raise CheckFailed(OVER_BUDGET, str(error), "not_applicable") from error
        cannot_be_built = error.reason in (Reason.UNKNOWN_MODEL, Reason.NEEDS_REMOTE_CODE)
        outcome = "not_applicable" if cannot_be_built else "failed"
        raise CheckFailed(str(error.reason), str(error), outcome) from error


def _vary(inputs: Inputs, case: InputCase) -> Inputs:
    def vary(argument: Any) -> Any:
        is_float = isinstance(argument, torch.Tensor) and argument.is_floating_point()
        return argument * case.scale + case.shift if is_float else argument

    return replace(inputs, args=tree_map(vary, inputs.args), kwargs=tree_map(vary, dict(inputs.kwargs)))


@dataclass(frozen=True, slots=True)
class _Comparison:
    """One input: the model's run, and the graph's on the same tensors."""

    stored: StoredGraph
    prepared: Prepared
    inputs: Inputs

    def run(self) -> None:
        """Raise `CheckFailed` unless replay and model agree in every bit."""
        held = _held_tensors(self.prepared.module)
        expected = run_checked(self._run_model)
        try:
            got = run_checked(lambda: self._replay(held))
        except CheckFailed as failed:
            if failed.reason == "raised" and self._is_one_branch():
                raise CheckFailed(VALUE_READ, f"{failed.detail}; the trace read values of its input") from failed
            raise
        difference = largest_difference(expected, got)
        if difference != 0.0:
            raise CheckFailed(*self._explain(difference, expected, held))

    def _run_model(self) -> Sequence[torch.Tensor]:
        inputs = copy.deepcopy(self.inputs)
        torch.manual_seed(_RANDOM_STATE)
        with torch.no_grad():
            return tuple(flatten_tensors(self.prepared.module(*inputs.args, **inputs.kwargs)))

    def _replay(self, held: Mapping[str, torch.Tensor]) -> Sequence[torch.Tensor]:
        operands = self._operands(held)
        torch.manual_seed(_RANDOM_STATE)
        return replay(self.stored.graph, operands)

    def _operands(self, held: Mapping[str, torch.Tensor]) -> list[torch.Tensor]:
        inputs = copy.deepcopy(self.inputs)
        given = dict(named_arguments(self.prepared.module, inputs.args, dict(inputs.kwargs)))
        found = [_operand(meta, given, held) for meta in self.stored.graph.tensors]
        if any(operand is None for operand in found):
            lifted = self._retraced_constants()
            found = [
                lifted.get(meta.name) if operand is None else operand
                for meta, operand in zip(self.stored.graph.tensors, found, strict=True)
            ]
        return [_checked(meta, operand) for meta, operand in zip(self.stored.graph.tensors, found, strict=True)]

    def _retraced_constants(self) -> Mapping[str, torch.Tensor]:
        inputs = copy.deepcopy(self.inputs)
        subject = self.prepared.model.model_id
        try:
            return trace_module(self.prepared.module, inputs.args, inputs.kwargs, subject=subject).constants
        except SubjectError as error:
            raise CheckFailed("operand_unknown", f"constants without values, and a new trace fails: {error}") from error

    def _is_one_branch(self) -> bool:
        return any(read.depends_on_input for read in self.stored.value_reads)

    def _explain(
        self, difference: float, expected: Sequence[torch.Tensor], held: Mapping[str, torch.Tensor]
    ) -> tuple[str, str]:
        detail = f"{self.prepared.model.model_id}: outputs differ by {difference:.3g} of the largest"
        _restore(self.prepared.module, held)
        if largest_difference(expected, run_checked(self._run_model)) != 0.0:
            return "not_deterministic", f"{detail}; the model differs from itself"
        if self._is_one_branch():
            return VALUE_READ, f"{detail}; the trace read values of its input"
        return "outputs_differ", f"{detail}; unexplained"


def _held_tensors(module: torch.nn.Module) -> dict[str, torch.Tensor]:
    """Return parameters and buffers by every name that they have; buffers as copies, for a run may write into them."""
    buffers = {name: buffer.clone() for name, buffer in module.named_buffers(remove_duplicate=False)}
    return {**dict(module.named_parameters(remove_duplicate=False)), **buffers, **_attributes(module)}


def _attributes(module: torch.nn.Module) -> dict[str, torch.Tensor]:
    return {path: tensor.clone() for path, tensor in attribute_tensors(module)}


def _restore(module: torch.nn.Module, held: Mapping[str, torch.Tensor]) -> None:
    for name, buffer in module.named_buffers(remove_duplicate=False):
        if name in held and held[name].shape == buffer.shape:
            buffer.copy_(held[name])


def _operand(
    meta: TensorMeta, given: Mapping[str, torch.Tensor], held: Mapping[str, torch.Tensor]
) -> torch.Tensor | None:
    """Return the value of one entry of the tensor table; None where only a new trace can tell."""
    if meta.kind == "input":
        return given.get(meta.original_name)
    if meta.kind == "constant" and meta.values is not None:
        return stored_operand(meta)
    if meta.kind == "constant":
        return held.get(meta.original_name)
    own = held.get(meta.original_name)
    return own.clone() if meta.kind == "buffer" and own is not None else own


def _checked(meta: TensorMeta, operand: torch.Tensor | None) -> torch.Tensor:
    if operand is None:
        raise CheckFailed("operand_unknown", f"the model holds no {meta.kind} {meta.original_name or meta.name!r}")
    if (tuple(operand.shape), operand.dtype) != (meta.shape, getattr(torch, meta.dtype)):
        found = f"{operand.dtype}{tuple(operand.shape)}"
        raise CheckFailed(
            "operand_unknown", f"{meta.kind} {meta.name} is {meta.dtype}{meta.shape}, the model's {found}"
        )
    return operand
