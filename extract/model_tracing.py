"""A model id to its trace: the source makes the model ready, the tracer runs it once.

Models run on the meta device; one whose program uses autocast is traced on fake tensors instead, since meta tensors
do not follow autocast. One whose program depends on values of its input runs on real tensors (`extract.real_tracing`).
"""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils._pytree import tree_map

from extract.failure import Reason, SubjectError
from extract.graph import Graph, TensorMeta, TensorRef
from extract.model_ref import ModelRef, Trace
from extract.program_prefix import Prefix
from extract.recorder import NeedsFakeTensors
from extract.sources import Inputs, Preparation, Prepared, prepare
from extract.tracer import Recording, trace_module

_MAX_TRIALS = 6  # one for each modality's placeholders and a few for models whose checks come one after the other

Tracer = Literal["function", "dynamo"]

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class TraceConfig:
    """How to trace.

    `max_params` (a count of elements) refuses larger models before their trace; None: any size. `max_real_params`
    bounds those that run on real tensors: 400 million take 1.6 GB in float32, which leaves about half of a child's
    3 GiB to torch itself, activations and Dynamo. `seed` decides their weights and inputs.
    """

    max_params: int | None = None
    batch_size: int = 1
    tracer: Tracer = "function"
    max_real_params: int = 400_000_000
    seed: int = 0


def trace_model(model_id: str, config: TraceConfig | None = None) -> Trace:
    """Return part 0 of a model; raises `SubjectError`.

    With the function mode that is the whole program, traced on meta tensors, or on real ones where it depends on the
    values of its input. Reasons: unknown_model, build_failed, over_max_params, forward_failed, dynamo_failed and
    those of `extract.tracer`.
    """
    from extract.real_tracing import trace_dynamo_parts, trace_on_real_tensors

    config = config or TraceConfig()
    if config.tracer == "dynamo":
        return trace_dynamo_parts(model_id, config)[0]
    started = time.perf_counter()
    prepared = prepare(model_id, Preparation(batch_size=config.batch_size, max_params=config.max_params))
    built = time.perf_counter()
    try:
        recording = trace_prepared(prepared)
    except SubjectError as failure:
        if failure.reason is not Reason.DATA_DEPENDENT:
            raise
        return trace_on_real_tensors(prepared.model, config, failure)
    return make_trace(prepared, recording, built - started, time.perf_counter() - built)


def trace_parts(model_id: str, config: TraceConfig | None = None) -> list[Trace]:
    """Return every part of a model: as `trace_model`, and Dynamo's parts (1 to n) of what ran on real tensors.

    Where Dynamo fails beside a trace on real tensors, that trace stands alone.
    """
    from extract.real_tracing import trace_dynamo_parts

    config = config or TraceConfig()
    if config.tracer == "dynamo":
        return trace_dynamo_parts(model_id, config)
    whole = trace_model(model_id, config)
    if whole.tensor_mode != "real":
        return [whole]
    try:
        return [whole, *trace_dynamo_parts(model_id, config, first_part=1)]
    except SubjectError as failure:
        log.info("no parts of Dynamo's beside the trace on real tensors: %s", failure)
        return [whole]


def make_trace(prepared: Prepared, recording: Recording, build_seconds: float, trace_seconds: float) -> Trace:
    """Return what the function mode recorded as part 0 of its model."""
    return Trace(
        model=describe_use(prepared, [recording.graph]),
        graph=recording.graph,
        tracer="function_mode",
        tensor_mode=recording.tensor_mode,
        value_reads=recording.value_reads,
        torch_version=torch.__version__,
        build_seconds=build_seconds,
        trace_seconds=trace_seconds,
    )


def trace_prepared(prepared: Prepared, prefix: Prefix | None = None) -> Recording:
    """Trace what a source made ready, on the tensors it has, as far as `prefix` where given; raises `SubjectError`, and
    `OpsDiffer` where it does not begin so.

    A failure that tells the source how to make better inputs is followed by another trial, `_MAX_TRIALS` in all.
    """
    for _ in range(_MAX_TRIALS - 1):
        try:
            return _trace_once(prepared, prefix)
        except SubjectError as failure:
            if prepared.learn is None or not prepared.learn(failure):
                raise
    return _trace_once(prepared, prefix)


def _trace_once(prepared: Prepared, prefix: Prefix | None) -> Recording:
    inputs, subject = prepared.make_inputs(0), prepared.model.model_id
    try:
        return trace_module(prepared.module, inputs.args, inputs.kwargs, subject=subject, prefix=prefix)
    except NeedsFakeTensors:
        log.info("%s uses autocast: tracing on fake tensors", subject)
    fake_mode = FakeTensorMode()
    to_fake(prepared.module, fake_mode)
    inputs = _fake_inputs(inputs, fake_mode)
    return trace_module(prepared.module, inputs.args, inputs.kwargs, subject=subject, prefix=prefix)


def describe_use(prepared: Prepared, graphs: Sequence[Graph]) -> ModelRef:
    """Return the model's record with what its program uses: data inputs by name, and the share of its parameters.

    `graphs` are the parts of the program; the inputs are those of the first.
    """
    tensors = [meta for graph in graphs[:1] for meta in _used_tensors(graph)]
    parameters = {meta.original_name for graph in graphs for meta in _used_tensors(graph) if meta.kind == "parameter"}
    num_parameters = sum(1 for _ in prepared.module.parameters())
    inputs = tuple(meta.original_name for meta in tensors if meta.kind == "input")
    received = {modality for name, modality in prepared.modality_of.items() if _is_among(name, inputs)}
    return replace(
        prepared.model,
        inputs=inputs,
        num_guesses=0,  # by construction: a value that cannot be known ends the trace
        modalities_received=tuple(sorted(received)),
        parameters_used_frac=len(parameters) / num_parameters if num_parameters else None,
    )


def _used_tensors(graph: Graph) -> list[TensorMeta]:
    used = {ref for node in graph.nodes for ref in node.refs()} | set(graph.outputs)
    return [meta for index, meta in enumerate(graph.tensors) if TensorRef(index) in used]


def _is_among(argument: str, inputs: Iterable[str]) -> bool:
    """Tell whether a tensor came in this argument, directly or as an element of a list (`pixel_values_0`)."""
    return any(name == argument or re.fullmatch(rf"{argument}_\d+", name) for name in inputs)


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
