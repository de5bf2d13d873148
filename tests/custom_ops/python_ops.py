# SPDX-License-Identifier: MIT
"""Ops of `torch.library.custom_op`: plain, writing into an operand, with tuples, lists, options and keywords."""

import torch


@torch.library.custom_op("passnet_python::twice", mutates_args=())
def twice(x: torch.Tensor) -> torch.Tensor:
    return x + x


@twice.register_fake
def _(x: torch.Tensor) -> torch.Tensor:
    return torch.empty_like(x)


@torch.library.custom_op("passnet_python::accumulate", mutates_args=("total",))
def accumulate(x: torch.Tensor, total: torch.Tensor) -> None:
    total.add_(x)


@accumulate.register_fake
def _(x: torch.Tensor, total: torch.Tensor) -> None:
    return None


@torch.library.custom_op("passnet_python::count", mutates_args=("seen",))
def count(x: torch.Tensor, seen: torch.Tensor) -> torch.Tensor:
    seen.add_(1)
    return x * 2


@count.register_fake
def _(x: torch.Tensor, seen: torch.Tensor) -> torch.Tensor:
    return torch.empty_like(x)


@torch.library.custom_op("passnet_python::bounds", mutates_args=())
def bounds(x: torch.Tensor, dim: int) -> tuple[torch.Tensor, torch.Tensor]:
    return x.amin(dim), x.amax(dim)


@bounds.register_fake
def _(x: torch.Tensor, dim: int) -> tuple[torch.Tensor, torch.Tensor]:
    return x.new_empty(x.shape[:dim] + x.shape[dim + 1 :]), x.new_empty(x.shape[:dim] + x.shape[dim + 1 :])


@torch.library.custom_op("passnet_python::mix", mutates_args=())
def mix(
    parts: list[torch.Tensor],
    weights: list[float],
    bias: torch.Tensor | None = None,
    *,
    scale: float = 1.0,
    name: str = "mix",
) -> torch.Tensor:
    total = sum(part * weight for part, weight in zip(parts, weights, strict=True)) * scale
    return total if bias is None else total + bias


@mix.register_fake
def _(
    parts: list[torch.Tensor],
    weights: list[float],
    bias: torch.Tensor | None = None,
    *,
    scale: float = 1.0,
    name: str = "mix",
) -> torch.Tensor:
    return torch.empty_like(parts[0])


@torch.library.custom_op("passnet_python::noise", mutates_args=(), tags=[torch.Tag.nondeterministic_seeded])
def noise(x: torch.Tensor) -> torch.Tensor:
    return torch.rand(x.shape)


@noise.register_fake
def _(x: torch.Tensor) -> torch.Tensor:
    return torch.empty_like(x)
