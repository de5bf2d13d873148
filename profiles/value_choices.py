"""What a program picks by value (topk, argmax, sort): a run in half precision follows float32's picks at near ties.

Two scores that differ by less than rounding change places in half precision, and with them whatever is gathered
afterwards, though every step was computed well. So picks are recorded in float32 and followed in half precision where
the values there are as good; a pick that is worse by more than rounding is not followed, and outputs tell.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

import torch
from torch.overrides import TorchFunctionMode

_INDEX_CALLS: Final = frozenset({"argmax", "argmin", "argsort"})  # these return indices; others a tuple with `.indices`


class RecordChoices(TorchFunctionMode):
    """While entered, keeps the indices that calls return which pick among floating-point values, in call order."""

    def __init__(self) -> None:
        super().__init__()
        self.indices: list[torch.Tensor] = []

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: Any = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        returned = func(*args, **(kwargs or {}))
        picked = _picked(func, args, returned)
        if picked is not None:
            self.indices.append(picked.clone())
        return returned


class FollowChoices(TorchFunctionMode):
    """While entered, calls that pick by value return the recorded picks, where these are ties with their own.

    A tie is within `max_epsilons` epsilons of the largest finite magnitude among the values picked from.
    """

    def __init__(self, indices: Sequence[torch.Tensor], max_epsilons: float) -> None:
        super().__init__()
        self._recorded: Iterator[torch.Tensor] = iter(indices)
        self._max_epsilons = max_epsilons

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: Any = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        returned = func(*args, **(kwargs or {}))
        own = _picked(func, args, returned)
        recorded = None if own is None else next(self._recorded, None)
        if own is None or recorded is None or recorded.shape != own.shape:
            return returned
        dim = _dim(func.__name__, args, kwargs or {})
        values, others = (_take(args[0], picks, dim) for picks in (own, recorded))
        if not self._are_ties(args[0], values, others):
            return returned
        return recorded if isinstance(returned, torch.Tensor) else type(returned)((others, recorded))

    def _are_ties(self, source: torch.Tensor, values: torch.Tensor, others: torch.Tensor) -> bool:
        finite = source.detach().double().nan_to_num(0.0, 0.0, 0.0).abs()
        slack = self._max_epsilons * torch.finfo(source.dtype).eps * float(finite.max()) if finite.numel() else 0.0
        return bool(((values == others) | ((values.double() - others.double()).abs() <= slack)).all())


def _picked(func: Callable[..., Any], args: Sequence[Any], returned: Any) -> torch.Tensor | None:
    if not args or not isinstance(args[0], torch.Tensor) or not args[0].is_floating_point():
        return None
    if getattr(func, "__name__", "") in _INDEX_CALLS:
        return returned
    indices = getattr(returned, "indices", None) if isinstance(returned, tuple) else None  # of torch.return_types
    return indices if isinstance(indices, torch.Tensor) else None


def _dim(name: str, args: Sequence[Any], kwargs: dict[str, Any]) -> int | None:
    """Return the dimension that a picking call works along; None where it takes the tensor as flat."""
    if "dim" in kwargs:
        return kwargs["dim"]
    at = 2 if name in {"topk", "kthvalue"} else 1  # after the tensor, and k
    if len(args) > at and not isinstance(args[at], bool):
        return args[at]
    return None if name in {"argmax", "argmin"} else -1


def _take(source: torch.Tensor, indices: torch.Tensor, dim: int | None) -> torch.Tensor:
    """Return the values of `source` at `indices` along `dim`, in the shape of `indices`."""
    if dim is None:
        return source.reshape(-1)[indices]
    if indices.dim() == source.dim():
        return source.gather(dim, indices)
    return source.gather(dim, indices.unsqueeze(dim)).squeeze(dim)
