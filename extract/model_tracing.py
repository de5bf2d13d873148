"""A model id to its trace: the source makes the model ready, the tracer runs it once.

Models run on the meta device; one whose program uses autocast is traced on fake tensors instead, since meta tensors
do not follow autocast.
"""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils._pytree import tree_map

from extract.failure import SubjectError
from extract.graph import Graph, TensorRef
from extract.model_ref import ModelRef, Trace
from extract.recorder import NeedsFakeTensors
from extract.sources import Inputs, Preparation, Prepared, prepare
from extract.tracer import Recording, trace_module

_MAX_TRIALS = 6  # one for each modality's placeholders and a few for models whose checks come one after the other

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class TraceConfig:
    """How to trace. `max_params` (a count of elements) refuses larger models before their trace; None: any size."""

    max_params: int | None = None
    batch_size: int = 1


def trace_model(model_id: str, config: TraceConfig | None = None) -> Trace:
    """Build a model on meta and return its trace; raises `SubjectError`.

    Reasons: unknown_model, build_failed, over_max_params, forward_failed and those of `extract.tracer`.
    """
    config = config or TraceConfig()
    started = time.perf_counter()
    prepared = prepare(model_id, Preparation(batch_size=config.batch_size, max_params=config.max_params))
    built = time.perf_counter()
    recording = trace_prepared(prepared)
    traced = time.perf_counter()
    return Trace(
        model=describe_use(prepared, recording.graph),
        graph=recording.graph,
        tracer="function_mode",
        tensor_mode=recording.tensor_mode,
        value_reads=recording.value_reads,
        torch_version=torch.__version__,
        build_seconds=built - started,
        trace_seconds=traced - built,
    )


def trace_prepared(prepared: Prepared) -> Recording:
    """Trace what a source made ready, on the tensors it has; raises `SubjectError`.

    A failure that tells the source how to make better inputs is followed by another trial, `_MAX_TRIALS` in all.
    """
    for _ in range(_MAX_TRIALS - 1):
        try:
            return _trace_once(prepared)
        except SubjectError as failure:
            if prepared.learn is None or not prepared.learn(failure):
                raise
    return _trace_once(prepared)


def _trace_once(prepared: Prepared) -> Recording:
    inputs, subject = prepared.make_inputs(0), prepared.model.model_id
    try:
        return trace_module(prepared.module, inputs.args, inputs.kwargs, subject=subject)
    except NeedsFakeTensors:
        log.info("%s uses autocast: tracing on fake tensors", subject)
    fake_mode = FakeTensorMode()
    to_fake(prepared.module, fake_mode)
    inputs = _fake_inputs(inputs, fake_mode)
    return trace_module(prepared.module, inputs.args, inputs.kwargs, subject=subject)


def describe_use(prepared: Prepared, graph: Graph) -> ModelRef:
    """Return the model's record with what its program uses: data inputs by name, and the share of its parameters."""
    used = {ref for node in graph.nodes for ref in node.refs()} | set(graph.outputs)
    tensors = [meta for index, meta in enumerate(graph.tensors) if TensorRef(index) in used]
    num_parameters = sum(1 for _ in prepared.module.parameters())
    num_used = sum(meta.kind == "parameter" for meta in tensors)
    return replace(
        prepared.model,
        inputs=tuple(meta.original_name for meta in tensors if meta.kind == "input"),
        parameters_used_frac=num_used / num_parameters if num_parameters else None,
    )


def to_fake(module: torch.nn.Module, fake_mode: FakeTensorMode) -> None:
    """Replace a meta module's parameters and buffers by fake CPU tensors, in place; tied ones stay tied."""
    fakes: dict[int, torch.Tensor] = {}
    for submodule in module.modules():
        for table in (submodule._parameters, submodule._buffers):
            for key, tensor in table.items():
                if tensor is None or not tensor.is_meta:
                    continue
                if id(tensor) not in fakes:
                    fake = _fake_of(tensor.detach(), fake_mode)
                    is_parameter = isinstance(tensor, torch.nn.Parameter)
                    fakes[id(tensor)] = torch.nn.Parameter(fake, requires_grad=False) if is_parameter else fake
                table[key] = fakes[id(tensor)]  # pyright: ignore[reportArgumentType]


def _fake_inputs(inputs: Inputs, fake_mode: FakeTensorMode) -> Inputs:
    def fake(argument: Any) -> Any:
        is_meta = isinstance(argument, torch.Tensor) and argument.is_meta
        return _fake_of(argument, fake_mode) if is_meta else argument

    return replace(inputs, args=tree_map(fake, inputs.args), kwargs=tree_map(fake, dict(inputs.kwargs)))


def _fake_of(tensor: torch.Tensor, fake_mode: FakeTensorMode) -> torch.Tensor:
    return fake_mode.fake_tensor_converter.from_meta_and_device(fake_mode, tensor, torch.device("cpu"))
