"""Source `timm`: every name of `timm.list_models()`, built on the meta device without weights, and traced.

The input is one image of the size that the model's pretrained_cfg names. A program that uses autocast is traced
on fake tensors instead, since meta tensors do not follow autocast.
"""

from __future__ import annotations

import difflib
import hashlib
import json
import logging
import time
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import timm
import torch
from timm.models import _registry as registry
from torch._subclasses.fake_tensor import FakeTensorMode

from extract import meta_build
from extract.failure import Reason, SubjectError
from extract.model_ref import ModelRef, Trace
from extract.recorder import NeedsFakeTensors
from extract.tracer import Recording, describe, trace_module

SOURCE = "timm"
_PREFIX = "timm/"

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class TraceConfig:
    """How to trace. `max_params` (a count of elements) refuses larger models before their trace; None: any size."""

    max_params: int | None = None
    batch_size: int = 1


def list_models() -> list[ModelRef]:
    """Return every model that timm names, sorted by name; builds none, so `num_parameters` is null."""
    return [_model_ref(name) for name in _names()]


def trace_model(model_id: str, config: TraceConfig | None = None) -> Trace:
    """Build a model on meta and return its trace; raises `SubjectError`.

    Reasons: unknown_model, build_failed, over_max_params, forward_failed and those of `extract.tracer`.
    """
    config = config or TraceConfig()
    name = _known_name(model_id)
    started = time.perf_counter()
    model = _build(model_id, name)
    num_parameters = sum(parameter.numel() for parameter in model.parameters())
    if config.max_params is not None and num_parameters > config.max_params:
        detail = f"{num_parameters} parameters, at most {config.max_params} allowed"
        raise SubjectError(model_id, Reason.OVER_MAX_PARAMS, detail)
    built = time.perf_counter()
    recording = _trace(model, (config.batch_size, *_input_size(name)), model_id)
    traced = time.perf_counter()
    return Trace(
        model=replace(_model_ref(name), num_parameters=num_parameters),
        graph=recording.graph,
        tracer="function_mode",
        tensor_mode=recording.tensor_mode,
        value_reads=recording.value_reads,
        torch_version=torch.__version__,
        build_seconds=built - started,
        trace_seconds=traced - built,
    )


def build_on_meta(name: str) -> torch.nn.Module:
    """Return a timm model in eval mode with meta parameters; raises whatever its constructor raises."""
    return meta_build.build_on_meta(lambda: timm.create_model(name, pretrained=False))


def to_fake(module: torch.nn.Module, fake_mode: FakeTensorMode) -> None:
    """Replace a meta module's parameters and buffers by fake CPU tensors, in place; tied ones stay tied."""
    converter, device = fake_mode.fake_tensor_converter, torch.device("cpu")
    fakes: dict[int, torch.Tensor] = {}
    for submodule in module.modules():
        for table in (submodule._parameters, submodule._buffers):
            for key, tensor in table.items():
                if tensor is None or not tensor.is_meta:
                    continue
                if id(tensor) not in fakes:
                    fake = converter.from_meta_and_device(fake_mode, tensor.detach(), device)
                    is_parameter = isinstance(tensor, torch.nn.Parameter)
                    fakes[id(tensor)] = torch.nn.Parameter(fake, requires_grad=False) if is_parameter else fake
                table[key] = fakes[id(tensor)]  # pyright: ignore[reportArgumentType]


@lru_cache(maxsize=1)
def _names() -> tuple[str, ...]:
    return tuple(timm.list_models())


def _known_name(model_id: str) -> str:
    name = model_id.removeprefix(_PREFIX)
    if model_id.startswith(_PREFIX) and name in _names():
        return name
    close = ", ".join(_PREFIX + match for match in difflib.get_close_matches(name, _names(), n=3))
    hint = f"did you mean {close}?" if close else "timm.list_models() names all there are"
    raise SubjectError(model_id, Reason.UNKNOWN_MODEL, f"timm {timm.__version__} has no such model; {hint}")


def _build(model_id: str, name: str) -> torch.nn.Module:
    try:
        return build_on_meta(name)
    except MemoryError as error:
        raise SubjectError(model_id, Reason.OUT_OF_MEMORY, describe(error)) from error
    except Exception as error:  # foreign code
        raise SubjectError(model_id, Reason.BUILD_FAILED, describe(error)) from error


def _trace(model: torch.nn.Module, shape: tuple[int, ...], model_id: str) -> Recording:
    try:
        return trace_module(model, (torch.empty(shape, device="meta"),), subject=model_id)
    except NeedsFakeTensors:
        log.info("%s uses autocast: tracing on fake tensors", model_id)
    fake_mode = FakeTensorMode()
    to_fake(model, fake_mode)
    with fake_mode:
        image = torch.empty(shape)
    return trace_module(model, (image,), subject=model_id)


def _input_size(name: str) -> tuple[int, ...]:
    return tuple(_pretrained_cfg(name)["input_size"])


def _pretrained_cfg(name: str) -> dict[str, Any]:
    cfg = timm.get_pretrained_cfg(name)
    return {} if cfg is None else cfg.to_dict()


def _model_ref(name: str) -> ModelRef:
    cfg = _pretrained_cfg(name)
    return ModelRef(
        model_id=_PREFIX + name,
        source=SOURCE,
        architecture=name,
        family=registry._model_to_module.get(name),
        config_sha256=_config_sha256(name, cfg),
        domain="cv",
        licence=cfg.get("license"),
        gated=False,
    )


def _config_sha256(name: str, cfg: dict[str, Any]) -> str:
    """Hash what decides the graph (definitions.md section 1): architecture, head and input, not weights or labels."""
    canonical = {
        "source": SOURCE,
        "architecture": name,
        "head": "classification",
        "num_classes": cfg.get("num_classes"),
        "input_size": list(cfg.get("input_size", ())),
    }
    text = json.dumps(canonical, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()
