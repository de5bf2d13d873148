"""A tensor to its record: shape, layout and what is known of its values.

Real tensors are measured (`stats_source` is `values`). Meta and fake tensors have no values, so floating-point ones
get what their role implies (`role`), by the table below; integers and unrecognised roles get nothing (`none`).

| role (by kind and qualified name) | mean | std | min | max | source |
|---|---|---|---|---|---|
| data input | 0 | 1 | - | - | images normalised by dataset mean and std |
| bias | 0 | 0 | 0 | 0 | initial value in most vision and language models |
| weight with one dimension (norm, scale) | 1 | 0 | 1 | 1 | initial value of the affine norms |
| weight with two or more dimensions (linear, convolution) | 0 | 1/sqrt(fan_in) | - | - | LeCun initialisation |
| position, class and relative-bias tables, other parameters | 0 | 0.02 | - | - | ViT's truncated normal |
| running_mean | 0 | 0 | 0 | 0 | initial value of BatchNorm |
| running_var | 1 | 0 | 1 | 1 | initial value of BatchNorm |
"""

from __future__ import annotations

import math
from dataclasses import replace

import torch

from extract.graph import Kind, TensorMeta

# Tensors with fewer elements carry their values (design.md section 3).
MAX_VALUES = 64

Moments = tuple[float, float, float | None, float | None]
_ZEROS: Moments = (0.0, 0.0, 0.0, 0.0)
_ONES: Moments = (1.0, 0.0, 1.0, 1.0)


def measure_tensor(tensor: torch.Tensor, kind: Kind, original_name: str) -> TensorMeta:
    """Return the record of a tensor, named as its original.

    Statistics of real tensors are taken over finite elements in double precision (std with Bessel's correction, null
    for fewer than two elements); costs one pass over the values. Meta and fake tensors get those of their role.
    """
    meta = TensorMeta(
        original_name, kind, original_name, tuple(tensor.shape), tuple(tensor.stride()), dtype_name(tensor.dtype)
    )
    if tensor.is_meta or _is_fake(tensor):
        return _suppose_statistics(meta, tensor.dtype.is_floating_point)
    return _measure_values(meta, tensor.detach())


def role_moments(meta: TensorMeta) -> Moments | None:
    """Return (mean, std, min, max) that a floating-point tensor's kind and name imply; None for no known role."""
    last = meta.original_name.rpartition(".")[2]
    if meta.kind == "input":
        return 0.0, 1.0, None, None
    if last == "running_mean" or (meta.kind == "parameter" and last.endswith("bias")):
        return _ZEROS
    if last == "running_var":
        return _ONES
    if meta.kind != "parameter":
        return None
    if not last.endswith("weight"):
        return 0.0, 0.02, None, None
    if len(meta.shape) < 2:
        return _ONES
    return 0.0, 1.0 / math.sqrt(max(math.prod(meta.shape[1:]), 1)), None, None


def dtype_name(dtype: torch.dtype) -> str:
    """Return torch's name of a dtype without the prefix."""
    return _DTYPE_NAMES.get(dtype) or _DTYPE_NAMES.setdefault(dtype, str(dtype).removeprefix("torch."))


_DTYPE_NAMES: dict[torch.dtype, str] = {}


def _is_fake(tensor: torch.Tensor) -> bool:
    return hasattr(tensor, "fake_mode")


def _measure_values(meta: TensorMeta, tensor: torch.Tensor) -> TensorMeta:
    values = tuple(tensor.reshape(-1).tolist()) if tensor.numel() < MAX_VALUES and not tensor.is_complex() else None
    if tensor.is_complex() or tensor.numel() == 0:
        return replace(meta, values=values, stats_source="values")
    wide = tensor.reshape(-1).double()
    if not math.isfinite(float(wide.sum())):
        wide = wide[wide.isfinite()]
    if wide.numel() == 0:
        return replace(meta, values=values, stats_source="values")
    std = float(wide.std()) if wide.numel() > 1 else None
    low, high = float(wide.min()), float(wide.max())
    return replace(meta, mean=float(wide.mean()), std=std, min=low, max=high, values=values, stats_source="values")


def _suppose_statistics(meta: TensorMeta, is_floating: bool) -> TensorMeta:
    moments = role_moments(meta) if is_floating else None
    if moments is None:
        return meta
    mean, std, low, high = moments
    return replace(meta, mean=mean, std=std, min=low, max=high, stats_source="role")
