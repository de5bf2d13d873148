"""Traces of one model at other sizes and in other dtypes, by small means: what the tests of instances share."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import torch
from torch.utils._pytree import tree_map

from extract.graph import Graph
from extract.sources import Preparation, prepare
from extract.tracer import trace_module


@lru_cache(maxsize=64)
def traced(model_id: str, batch_size: int = 1, image_size: int | None = None, dtype: str = "float32") -> Graph:
    """Return the whole program of a model; `image_size` stands for height and width where given."""
    prepared = prepare(model_id, Preparation(batch_size=batch_size))
    module = prepared.module.to(getattr(torch, dtype))
    inputs = prepared.make_inputs(0)
    args, kwargs = tree_map(lambda value: _changed(value, image_size, dtype), (inputs.args, dict(inputs.kwargs)))
    return trace_module(module, args, kwargs, subject=model_id).graph


def _changed(value: Any, image_size: int | None, dtype: str) -> Any:
    if not isinstance(value, torch.Tensor) or not value.is_floating_point():
        return value
    shape = list(value.shape)
    if image_size is not None and len(shape) == 4:
        shape[2:] = [image_size, image_size]
    return torch.empty(shape, dtype=getattr(torch, dtype), device=value.device)
