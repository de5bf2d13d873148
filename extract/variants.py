"""A model to its variants: one graph for each shape config and dtype, by tracing the model again (paper section 3.2).

Variant (0, float32) is the graph that `trace_model` gives. Rows and policy: definitions.md section 5; which inputs a
row gets is decided in float32 (`extract.variant_choice`), the other dtypes are `module.to(dtype)` on the same inputs.
Every (config, dtype) that was asked for ends as a `Variant` or as a `MissingVariant` with its reason.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch.utils._pytree import tree_map

from extract.dtype_rules import find_refused_call
from extract.failure import Reason, SubjectError, describe
from extract.graph import Graph
from extract.model_ref import ModelRef
from extract.module_state import ModuleState
from extract.program_prefix import first_ops
from extract.reruns import Deadline
from extract.shape_configs import CONFIGS, DTYPES, HELD_OUT, Sizes
from extract.sources import Inputs, Prepared
from extract.variant_choice import Choice, Chooser, Program


@dataclass(frozen=True, slots=True)
class Variant:
    """A model's graph at one shape config and dtype.

    `sizes` are the absolute sizes of its inputs' axes; `table` names whose row they are: the modality's own or
    `batch_only`, which stands in where the model refuses the row. `is_rebuilt`: by a module made for this size.
    `has_same_ops`: the op names are those of variant (0, float32), in the same order. `is_prefix`: the graph is the
    first ops of the program, and returns what the others use of them; `refusal` says why it ends before those asked
    for: at the first call that no kernel takes in this dtype.
    """

    shape_config: int
    dtype: str
    graph: Graph
    sizes: Sizes
    table: str
    is_rebuilt: bool
    has_same_ops: bool
    is_prefix: bool = False
    refusal: str | None = None


@dataclass(frozen=True, slots=True)
class MissingVariant:
    """Why there is no variant (shape_refused, duplicate_config, dtype_unsupported, timeout), in the model's words."""

    shape_config: int
    dtype: str
    reason: Reason
    detail: str


@dataclass(frozen=True, slots=True)
class VariantTraces:
    """All variants of a model in the order of dtypes and rows, those that are missing, and how long it took."""

    model: ModelRef
    variants: tuple[Variant, ...]
    missing: tuple[MissingVariant, ...]
    build_seconds: float
    trace_seconds: float


def trace_variants(
    model_id: str,
    configs: Sequence[int] = CONFIGS,
    dtypes: Sequence[str] = DTYPES,
    *,
    held_out: bool = True,
    max_params: int | None = None,
    max_seconds: float | None = None,
    num_ops: int | None = None,
) -> VariantTraces:
    """Trace a model at each shape config in each dtype; `held_out` adds rows 10 and 11 in float32 alone.

    With `num_ops` so many ops of the program are asked for: all but variant (0, float32) are traced so far alone, where
    that saves something and their ops are the same. Rows that a model would refuse later on are then not refused.

    After `max_seconds` no more traces begin and what is left is missing, `timeout`; None: no bound. Which row of
    `batch_only` stands in for a refused one depends on the rows before it: equal calls give equal variants.

    A program that depends on values is traced on real tensors (`extract.reruns`): its rows are the branches that these
    take. Raises `SubjectError` where the model has no graph at its own sizes.
    """
    started = time.perf_counter()
    deadline = Deadline(max_seconds)
    chooser = Chooser(model_id, max_params, deadline, num_ops)
    built = time.perf_counter()
    asked = [(config, dtypes) for config in configs] + [(config, ("float32",)) for config in HELD_OUT if held_out]
    variants: list[Variant] = []
    missing: list[MissingVariant] = []
    choices: list[tuple[Choice, Sequence[str]]] = []
    for config, wanted in asked:
        choice = chooser.choose(config)
        if isinstance(choice, Choice):
            choices.append((choice, wanted))
        else:
            missing += [MissingVariant(config, dtype, choice.reason, choice.detail) for dtype in wanted]
    for dtype in dict.fromkeys(dtype for _, wanted in asked for dtype in wanted):
        for outcome in _trace_in(dtype, [choice for choice, wanted in choices if dtype in wanted], chooser):
            if isinstance(outcome, Variant):
                variants.append(outcome)
            else:
                missing.append(outcome)
    return VariantTraces(chooser.model, tuple(variants), tuple(missing), built - started, time.perf_counter() - built)


def with_dtype(prepared: Prepared, dtype: torch.dtype) -> Prepared:
    """Return the same with floating-point inputs of a dtype; others stay."""

    def cast(argument: Any) -> Any:
        is_floating = isinstance(argument, torch.Tensor) and argument.is_floating_point()
        return argument.to(dtype) if is_floating else argument

    def make_inputs(seed: int) -> Inputs:
        inputs = prepared.make_inputs(seed)
        return replace(inputs, args=tree_map(cast, inputs.args), kwargs=tree_map(cast, dict(inputs.kwargs)))

    return replace(prepared, make_inputs=make_inputs)


def _trace_in(dtype: str, choices: Sequence[Choice], chooser: Chooser) -> Iterator[Variant | MissingVariant]:
    """Yield each choice's variant in one dtype, or why there is none."""
    if dtype == "float32":
        yield from (_variant(choice, dtype, choice.program) for choice in choices)
        return
    try:
        states = _cast_modules(choices, getattr(torch, dtype))
    except Exception as error:  # foreign code
        detail = f"module.to: {describe(error)}"
        yield from (MissingVariant(choice.shape_config, dtype, Reason.DTYPE_UNSUPPORTED, detail) for choice in choices)
        return
    for choice in choices:
        program = _cast_program(choice, dtype, states[id(choice.prepared.module)], chooser)
        if isinstance(program, SubjectError):
            yield MissingVariant(choice.shape_config, dtype, program.reason, program.detail)
        else:
            yield _variant(choice, dtype, program)


def _cast_program(choice: Choice, dtype: str, state: ModuleState, chooser: Chooser) -> Program | SubjectError:
    """Return the program of a cast module on cast inputs, or why there is none (dtype_unsupported, timeout)."""
    subject = choice.prepared.model.model_id
    try:
        program = chooser.trace(with_dtype(choice.prepared, getattr(torch, dtype)), state)
    except SubjectError as failure:
        if failure.reason is Reason.TIMEOUT:
            return failure
        return SubjectError(subject, Reason.DTYPE_UNSUPPORTED, f"{failure.reason}: {failure.detail}")
    refused = find_refused_call(program.graph)
    if refused is None:
        return program
    index, said = refused
    if not index or not program.has_same_ops:
        return SubjectError(subject, Reason.DTYPE_UNSUPPORTED, said)
    return Program(first_ops(program.graph, index), is_prefix=True, has_same_ops=True, refusal=said)


def _variant(choice: Choice, dtype: str, program: Program) -> Variant:
    return Variant(
        choice.shape_config,
        dtype,
        program.graph,
        choice.prepared.sizes,
        choice.table,
        choice.is_rebuilt,
        program.has_same_ops,
        program.is_prefix,
        program.refusal,
    )


def _cast_modules(choices: Sequence[Choice], dtype: torch.dtype) -> Mapping[int, ModuleState]:
    """Cast each module, from its state in float32 and not from another cast; return the new states by module's id."""
    states: dict[int, ModuleState] = {}
    for choice in choices:
        module = choice.prepared.module
        if id(module) not in states:
            choice.state.restore()
            module.to(dtype)
            states[id(module)] = ModuleState(module)
    return states
