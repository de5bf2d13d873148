"""What a call returned on meta tensors, remembered: models repeat their blocks, and meta kernels are slow Python.

A meta call depends on its function, on the shape, stride and dtype of its operands, and on its other arguments,
nothing else; so a call seen before gives fresh meta tensors of the shapes, strides and dtypes seen then, or its first
operand again where it had returned that. Outputs are never views of each other's storage, which meta tensors do not
show. Calls with complex or non-strided operands, `out=` or no operand are not remembered, nor are calls that return
nothing, but for `x[i] = y`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from types import EllipsisType
from typing import Any

import torch

from extract.arguments import map_tensors

_PLAIN: frozenset[type] = frozenset({int, float, bool, str, type(None), EllipsisType})
_TORCH: frozenset[type] = frozenset({torch.dtype, torch.device, torch.memory_format, torch.layout})
_FIRST_OPERAND = object()


class _NotMemorable(Exception):
    """An argument whose part in the outcome a key cannot express."""


class ShapeMemo:
    """Remembers at most `max_calls` distinct calls; forgets all of them when full."""

    def __init__(self, max_calls: int = 50_000) -> None:
        self.num_hits = 0
        self._max_calls = max_calls
        self._outcomes: dict[Any, Any] = {}

    def call(self, func: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Return what `func(*args, **kwargs)` returns on meta tensors, from memory when seen before."""
        if not args or "out" in kwargs:
            return func(*args, **kwargs)
        try:
            key = (func, tuple([_freeze(arg) for arg in args]), tuple([(n, _freeze(arg)) for n, arg in kwargs.items()]))
        except _NotMemorable:
            return func(*args, **kwargs)
        outcome = self._outcomes.get(key, self)
        if outcome is self:
            returned = func(*args, **kwargs)
            self._remember(key, args, returned)
            return returned
        self.num_hits += 1
        if outcome is _FIRST_OPERAND:
            return args[0]
        return _fresh(outcome) if isinstance(outcome, torch.Tensor) else map_tensors(outcome, _fresh)

    def _remember(self, key: Any, args: tuple[Any, ...], returned: Any) -> None:
        if returned is None and key[0] is not torch.Tensor.__setitem__:
            return  # called for what it does
        if not isinstance(returned, torch.Tensor | tuple | list | None) or not _holds_plain_tensors(returned):
            return
        if len(self._outcomes) >= self._max_calls:
            self._outcomes.clear()
        if returned is not args[0]:
            self._outcomes[key] = map_tensors(returned, _fresh)
        elif _freeze(returned) == key[1][0]:
            self._outcomes[key] = _FIRST_OPERAND


@lru_cache(maxsize=1)
def shape_memo() -> ShapeMemo:
    """Return the one memory of this process: models of a family share most of their calls."""
    return ShapeMemo()


def _freeze(argument: Any) -> Any:
    """A hashable stand-in that is equal exactly when the argument plays the same part (1, 1.0 and True differ)."""
    kind = type(argument)
    if kind in _PLAIN:
        return kind, argument
    if isinstance(argument, torch.Tensor):
        if argument.layout is not torch.strided or argument.is_complex() or not argument.is_meta:
            raise _NotMemorable
        return argument.shape, argument.stride(), argument.dtype
    if kind in (tuple, list, torch.Size):
        return kind, *[_freeze(element) for element in argument]
    if kind is slice:
        return kind, _freeze(argument.start), _freeze(argument.stop), _freeze(argument.step)
    if kind in _TORCH:
        return argument
    raise _NotMemorable


def _holds_plain_tensors(returned: Any) -> bool:
    found: list[torch.Tensor] = []
    map_tensors(returned, found.append)
    return all(
        type(t) is torch.Tensor and t.layout is torch.strided and not t.is_complex() and t.is_meta for t in found
    )


def _fresh(tensor: torch.Tensor) -> torch.Tensor:
    return torch.empty_strided(tensor.shape, tensor.stride(), dtype=tensor.dtype, device="meta")
