"""Graphs replayed on a model's own weights, against each other and against the model itself.

The model is run several times; its buffers are put back before each run, random state is seeded alike.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch

from extract.dynamo_tracer import Part
from extract.graph import Graph, TensorMeta
from extract.replay import replay
from extract.sources import Prepared
from extract.tensor_identity import attribute_tensors
from extract.tracer import flatten_tensors, named_arguments

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class OutputCheck:
    """Outputs of our graph against Dynamo's, and of the stored graph against the module; None: not comparable."""

    equal_output: bool | None = None
    max_rel_diff: float | None = None
    equal_eager: bool | None = None


class RealModel:
    """A model with weights, to be run again and again as if for the first time."""

    def __init__(self, prepared: Prepared, seed: int) -> None:
        self._prepared = prepared
        self._seed = seed
        self._buffers = {name: buffer.clone() for name, buffer in prepared.module.named_buffers()}

    def pristine(self) -> Prepared:
        """Return the model with its buffers as they were at first."""
        torch.manual_seed(self._seed)
        with torch.no_grad():
            for name, buffer in self._prepared.module.named_buffers():
                kept = self._buffers.get(name)
                if kept is not None and kept.shape == buffer.shape:
                    buffer.copy_(kept)
        return self._prepared

    def compare(self, stored: Graph, ours: Graph, parts: Sequence[Part]) -> OutputCheck:
        """Replay the stored graph, ours under the conditions of the comparison, and Dynamo's where it is one."""
        try:
            expected = self._run_module()
            from_stored = self._replay(stored, {})
            equal_eager = largest_difference(expected, from_stored) == 0.0
            if len(parts) != 1:
                return OutputCheck(equal_eager=equal_eager)
            mine = from_stored if ours is stored else self._replay(ours, {})
            theirs = self._replay(parts[0].graph, parts[0].operands)
        except Exception as error:  # foreign code
            log.info("%s: outputs not compared: %s", self._prepared.model.model_id, error)
            return OutputCheck()
        difference = largest_difference(mine, theirs)
        return OutputCheck(difference == 0.0, difference, equal_eager)

    def _run_module(self) -> tuple[torch.Tensor, ...]:
        prepared = self.pristine()
        inputs = prepared.make_inputs(self._seed)
        with torch.no_grad():
            return tuple(flatten_tensors(prepared.module(*inputs.args, **inputs.kwargs)))

    def _replay(self, graph: Graph, known: Mapping[str, torch.Tensor]) -> tuple[torch.Tensor, ...]:
        prepared = self.pristine()
        inputs = prepared.make_inputs(self._seed)
        module = prepared.module
        given = dict(named_arguments(module, inputs.args, dict(inputs.kwargs)))
        held = {
            **dict(attribute_tensors(module)),
            **dict(module.named_parameters(remove_duplicate=False)),
            **dict(module.named_buffers(remove_duplicate=False)),
        }
        operands = [_operand(meta, given, held, known) for meta in graph.tensors]
        return replay(graph, operands)


def largest_difference(some: Sequence[torch.Tensor], others: Sequence[torch.Tensor]) -> float:
    """Return the largest relative difference between outputs, 0.0 for equal bits, infinite for other shapes or types.

    Relative to the largest magnitude of the output; NaN equals NaN.
    """
    if len(some) != len(others):
        return float("inf")
    return max((_difference(one, other) for one, other in zip(some, others, strict=True)), default=0.0)


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
