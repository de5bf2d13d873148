"""Graphs replayed on a model's own weights, against each other and against the model itself.

Each run finds the model as it was at first (`extract.real_model`).
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch

from extract.dynamo_tracer import Part
from extract.failure import describe
from extract.graph import Graph, TensorMeta
from extract.real_model import RealModel
from extract.replay import replay
from extract.tensor_identity import attribute_tensors
from extract.tracer import flatten_tensors, named_arguments

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class OutputCheck:
    """Outputs of our graph against Dynamo's, and of the stored graph against the module; None: not comparable."""

    equal_output: bool | None = None
    max_rel_diff: float | None = None
    equal_eager: bool | None = None


def compare_outputs(model: RealModel, stored: Graph, ours: Graph, parts: Sequence[Part]) -> OutputCheck:
    """Replay the stored graph, ours under the conditions of a comparison, and Dynamo's where it is one graph."""
    try:
        expected = _run_module(model)
        from_stored = _replay(model, stored, {})
        equal_eager = largest_difference(expected, from_stored) == 0.0
        if len(parts) != 1:
            return OutputCheck(equal_eager=equal_eager)
        mine = from_stored if ours is stored else _replay(model, ours, {})
        difference = largest_difference(mine, _replay(model, parts[0].graph, parts[0].operands))
    except Exception as error:  # foreign code
        log.info("outputs not compared: %s", describe(error))
        return OutputCheck()
    return OutputCheck(difference == 0.0, difference, equal_eager)


def largest_difference(some: Sequence[torch.Tensor], others: Sequence[torch.Tensor]) -> float:
    """Return the largest relative difference between outputs, 0.0 for equal bits, infinite for other shapes or types.

    Relative to the largest magnitude of the output; NaN equals NaN.
    """
    if len(some) != len(others):
        return float("inf")
    return max((_difference(one, other) for one, other in zip(some, others, strict=True)), default=0.0)


def _run_module(model: RealModel) -> tuple[torch.Tensor, ...]:
    prepared = model.pristine()
    inputs = prepared.make_inputs(model.seed)
    with torch.no_grad():
        return tuple(flatten_tensors(prepared.module(*inputs.args, **inputs.kwargs)))


def _replay(model: RealModel, graph: Graph, known: Mapping[str, torch.Tensor]) -> tuple[torch.Tensor, ...]:
    prepared = model.pristine()
    inputs = prepared.make_inputs(model.seed)
    module = prepared.module
    given = dict(named_arguments(module, inputs.args, dict(inputs.kwargs)))
    held = {
        **dict(attribute_tensors(module)),
        **dict(module.named_parameters(remove_duplicate=False)),
        **dict(module.named_buffers(remove_duplicate=False)),
    }
    return replay(graph, [_operand(meta, given, held, known) for meta in graph.tensors])


def _difference(one: torch.Tensor, other: torch.Tensor) -> float:
    if one.shape != other.shape or one.dtype != other.dtype:
        return float("inf")
    if torch.equal(one, other):
        return 0.0
    wide = torch.complex128 if one.is_complex() else torch.float64
    gap = (one.to(wide) - other.to(wide)).abs()
    gap[one.isnan() & other.isnan()] = 0.0
    gap[one == other] = 0.0
    scale = one.to(wide).abs().nan_to_num(0.0, 0.0, 0.0).max().clamp_min(1e-30)
    return float((gap / scale).nan_to_num(float("inf"), float("inf")).max())


def _operand(
    meta: TensorMeta,
    given: Mapping[str, torch.Tensor],
    held: Mapping[str, torch.Tensor],
    known: Mapping[str, torch.Tensor],
) -> torch.Tensor:
    """The tensor behind an entry of a graph's table; raises KeyError for a constant that the trace does not hold."""
    if meta.kind == "input" and meta.original_name in given:
        return given[meta.original_name]
    if meta.original_name in held:
        return held[meta.original_name]
    if meta.values is not None:
        return torch.tensor(meta.values, dtype=getattr(torch, meta.dtype)).reshape(meta.shape)
    return known[meta.name]
