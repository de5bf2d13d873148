"""Which attention kernel a GPU would take, and a call that plans it where no GPU is.

Without a device torch silently decomposes `scaled_dot_product_attention` into matrix products (kernel-curve-facts.md
section 2), so the choice is made here by the rules of torch's CUDA dispatch (torch 2.11 to 2.14, sdp_utils.cpp in
aten/native/transformers/cuda): flash for half precision without a mask, memory-efficient for what else it takes, else
the mathematical form. cuDNN's kernels, preferred on compute capability 9.0 where cuDNN is recent enough, plan as one
extern kernel like flash. Uncalibrated: no GPU has confirmed these rules here.
"""

from __future__ import annotations

import math
from typing import Any, Literal

import torch
from torch.nn import functional as F

Choice = Literal["flash", "efficient", "math"]

_HALF = (torch.float16, torch.bfloat16)
_MAX_FLASH_HEAD = 256
_HEAD_ALIGNMENT = 8  # elements; flash pads to it
_MASK_ALIGNMENT = 8  # elements of each stride of a mask; the efficient kernel's callers pad to it
_FLASH_CAPABILITY = (8, 0)
_plain_attention = F.scaled_dot_product_attention


def choose_attention(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attn_mask: torch.Tensor | None,
    dropout_p: float,
    is_causal: bool,
    capability: tuple[int, int],
) -> Choice:
    """Return the kernel that torch's dispatch takes for operands (batch, heads, length, width), no gradients."""
    if any(tensor.dim() != 4 or 0 in tensor.shape for tensor in (query, key, value)):
        return "math"
    if query.dtype not in (*_HALF, torch.float32) or not query.dtype == key.dtype == value.dtype:
        return "math"
    if any(tensor.stride(-1) != 1 for tensor in (query, key, value)) or key.shape[:3] != value.shape[:3]:
        return "math"
    width = query.size(-1)
    is_flash = query.dtype in _HALF and attn_mask is None and capability >= _FLASH_CAPABILITY
    if is_flash and width == key.size(-1) == value.size(-1) and width <= _MAX_FLASH_HEAD:
        return "flash"
    alignment = 8 if query.dtype in _HALF else 4
    if width % alignment or value.size(-1) % alignment or (attn_mask is not None and is_causal):
        return "math"
    return "efficient"


def planned_attention(capability: tuple[int, int]) -> Any:
    """Return a stand-in for `scaled_dot_product_attention` that calls the kernel a GPU of `capability` takes."""

    def attention(
        query: torch.Tensor,
        key: torch.Tensor,
        value: torch.Tensor,
        attn_mask: torch.Tensor | None = None,
        dropout_p: float = 0.0,
        is_causal: bool = False,
        scale: float | None = None,
        enable_gqa: bool = False,
    ) -> torch.Tensor:
        if enable_gqa and query.dim() == 4 and query.size(1) != key.size(1):
            key = key.repeat_interleave(query.size(1) // key.size(1), 1)
            value = value.repeat_interleave(query.size(1) // value.size(1), 1)
        choice = choose_attention(query, key, value, attn_mask, dropout_p, is_causal, capability)
        if choice == "math":
            return _plain_attention(query, key, value, attn_mask, dropout_p, is_causal, scale=scale)
        if choice == "flash":
            return _flash_attention(query, key, value, dropout_p, is_causal, scale)
        efficient = torch.ops.aten._scaled_dot_product_efficient_attention
        bias = _bias_of(attn_mask, query, key)
        return efficient(query, key, value, bias, False, dropout_p, is_causal, scale=scale)[0]

    return attention


def _flash_attention(
    query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, dropout_p: float, is_causal: bool, scale: float | None
) -> torch.Tensor:
    """Call the flash kernel, heads padded as torch pads them."""
    width = query.size(-1)
    scale = scale or 1 / math.sqrt(width)
    if width % _HEAD_ALIGNMENT:
        missing = _HEAD_ALIGNMENT - width % _HEAD_ALIGNMENT
        query, key, value = (F.pad(tensor, (0, missing)) for tensor in (query, key, value))
    flash = torch.ops.aten._scaled_dot_product_flash_attention
    return flash(query, key, value, dropout_p, is_causal, False, scale=scale)[0][..., :width]


def _bias_of(mask: torch.Tensor | None, query: torch.Tensor, key: torch.Tensor) -> torch.Tensor | None:
    """Return a mask as the efficient kernel takes it: floats of the query's type, strides aligned, expanded."""
    if mask is None:
        return None
    if mask.dtype == torch.bool:
        mask = torch.where(mask, 0.0, -math.inf).to(query.dtype)
    length = mask.size(-1)
    is_aligned = mask.stride(-1) == 1 and all(step % _MASK_ALIGNMENT == 0 for step in mask.stride()[:-1])
    if not is_aligned:
        mask = F.pad(mask, (0, _MASK_ALIGNMENT - length % _MASK_ALIGNMENT))[..., :length]
    return mask.expand(query.size(0), query.size(1), query.size(2), key.size(2))
