"""A model to its trace on real tensors: what to do where a program depends on the values of its input.

The model is built again with seeded random weights. The function mode then follows the one branch that these weights
and inputs take (its value reads say so); Dynamo instead ends a part at each such place. Both need memory for the
weights, so large models are refused.
"""

from __future__ import annotations

import time
from dataclasses import replace

import torch

from extract.failure import Reason, SubjectError
from extract.model_ref import ModelRef, Trace
from extract.model_tracing import TraceConfig, describe_use, make_trace, trace_prepared
from extract.real_model import RealModel
from extract.sources import Preparation, Prepared, prepare


def trace_on_real_tensors(model: ModelRef, config: TraceConfig, failure: SubjectError) -> Trace:
    """Trace with the function mode on real tensors what failed on meta with `failure`, which stands if this fails."""
    try:
        check_real_size(model, config)
        started = time.perf_counter()
        prepared = _prepare_real(model.model_id, config)
        built = time.perf_counter()
        recording = trace_prepared(prepared)
    except SubjectError as error:
        detail = f"{failure.detail}; on real tensors: {error.detail}"
        raise SubjectError(failure.subject, failure.reason, detail) from error
    return make_trace(prepared, recording, built - started, time.perf_counter() - built)


def trace_dynamo_parts(model_id: str, config: TraceConfig, first_part: int = 0) -> list[Trace]:
    """Return Dynamo's graphs of a model as parts from `first_part` on, those without any op left out.

    Raises `SubjectError`: as `trace_model`, dynamo_failed where the model is too large for real tensors.
    """
    from extract.dynamo_tracer import capture_parts

    preparation = Preparation(batch_size=config.batch_size, max_params=config.max_params)
    check_real_size(prepare(model_id, preparation).model, config)
    started = time.perf_counter()
    prepared = _prepare_real(model_id, config)
    inputs = prepared.make_inputs(config.seed)
    built = time.perf_counter()
    captured = capture_parts(prepared.module, inputs.args, inputs.kwargs, subject=model_id)
    parts = [part for part in captured if part.graph.nodes]
    if not parts:
        raise SubjectError(model_id, Reason.DYNAMO_FAILED, "Dynamo made no graph that holds an op")
    model = describe_use(prepared, [part.graph for part in parts])
    traced = Trace(
        model=model,
        graph=parts[0].graph,
        tracer="dynamo",
        tensor_mode="real",
        value_reads=(),
        torch_version=torch.__version__,
        build_seconds=built - started,
        trace_seconds=time.perf_counter() - built,
    )
    return [
        replace(traced, graph=part.graph, part=number, break_reason=part.break_reason)
        for number, part in enumerate(parts, start=first_part)
    ]


def check_real_size(model: ModelRef, config: TraceConfig) -> None:
    """Raise `SubjectError` (dynamo_failed) where a model has more parameters than run on real tensors."""
    count = model.num_parameters
    if count is not None and count > config.max_real_params:
        detail = f"too large for real tensors: {count} parameters, at most {config.max_real_params}"
        raise SubjectError(model.model_id, Reason.DYNAMO_FAILED, detail)


def _prepare_real(model_id: str, config: TraceConfig) -> Prepared:
    preparation = Preparation("random", config.seed, config.batch_size, config.max_params)
    return RealModel(prepare(model_id, preparation), config.seed).pristine()
