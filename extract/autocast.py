"""What autocast does to one call, made explicit: the casts of its operands.

Inside an autocast region torch casts operands before it computes. A graph must say so itself, so that it replays
without autocast and can be cut anywhere. `find_casts` runs the call on fake twins under a dispatch mode and compares
the aten calls with and without autocast: equal means autocast does nothing; else the casts that open the
autocast run are tried as explicit casts, and taken only if the rest of the run is then the same without autocast.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import torch
from torch._subclasses.fake_tensor import (
    DataDependentOutputException,
    DynamicOutputShapeException,
    FakeTensor,
    FakeTensorMode,
)
from torch.utils._python_dispatch import TorchDispatchMode

from extract.arguments import map_tensors

Casts = dict[int, torch.dtype]


@dataclass(frozen=True, slots=True)
class _AtenCall:
    name: str
    dtypes: tuple[torch.dtype, ...]
    moves_only: bool


_AtenCalls = list[_AtenCall]
_COPY = "aten._to_copy.default"
_MOVES = frozenset({_COPY, "aten.clone.default", "aten._unsafe_view.default"})


def autocast_off(device_type: str) -> torch.autocast:
    """Return a context in which `device_type` computes without autocast."""
    return torch.autocast(device_type, enabled=False)


def find_casts(
    func: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any], device_type: str
) -> Casts | None:
    """Return id(operand) -> dtype that autocast would cast it to; empty when autocast leaves the call alone.

    None when the casts lie inside the call, so that no cast of operands reproduces them.
    """
    twins = _FakeTwins()
    plain_args, plain_kwargs = twins.of(args), twins.of(dict(kwargs))
    try:
        with_autocast, casts = _observe(func, plain_args, plain_kwargs, None)
    except (DataDependentOutputException, DynamicOutputShapeException):
        return {}  # no op of autocast's lists reads values
    without = _observe_or_none(func, plain_args, plain_kwargs, device_type)
    if with_autocast == without:
        return {}
    return _leading_casts(func, args, kwargs, device_type, twins, (with_autocast, casts)) or _uniform_cast(
        func, args, kwargs, device_type, twins, with_autocast
    )


def _leading_casts(
    func: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any],
    device_type: str,
    twins: _FakeTwins,
    observed: tuple[_AtenCalls, Casts],
) -> Casts | None:
    """The casts that open the autocast run, if they account for all that autocast does."""
    with_autocast, casts = observed
    chosen = {twins.original[key]: dtype for key, dtype in casts.items() if key in twins.original}
    if not chosen or len(chosen) != len(casts):
        return None

    def cast(tensor: torch.Tensor) -> torch.Tensor:
        return twins.twin(tensor).to(chosen[id(tensor)]) if id(tensor) in chosen else twins.twin(tensor)

    explicit = _observe_or_none(func, map_tensors(args, cast), map_tensors(dict(kwargs), cast), device_type)
    return chosen if explicit == with_autocast[_num_leading_casts(with_autocast) :] else None


def _uniform_cast(
    func: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any],
    device_type: str,
    twins: _FakeTwins,
    with_autocast: _AtenCalls,
) -> Casts | None:
    """One dtype for all floating operands (einsum moves them first and casts inside): moving and casting commute."""
    wanted = [call for call in with_autocast if not call.moves_only]
    for dtype in (torch.get_autocast_dtype(device_type), torch.float32):
        chosen: Casts = {}

        def cast(tensor: torch.Tensor, dtype: torch.dtype = dtype, chosen: Casts = chosen) -> torch.Tensor:
            if not tensor.is_floating_point() or tensor.dtype is dtype:
                return twins.twin(tensor)
            chosen[id(tensor)] = dtype
            return twins.twin(tensor).to(dtype)

        explicit = _observe_or_none(func, map_tensors(args, cast), map_tensors(dict(kwargs), cast), device_type)
        if explicit is not None and [call for call in explicit if not call.moves_only] == wanted:
            return chosen
    return None


@lru_cache(maxsize=256)
def inlined(func: types.FunctionType) -> types.FunctionType:
    """Return a copy of a Python function of torch that runs its body instead of dispatching itself to a mode."""
    patched = {**func.__globals__, **dict.fromkeys(_DISPATCH_CHECKS, _never)}
    if patched.get("torch") is torch:
        overrides = _Overlay(torch.overrides, **dict.fromkeys(_DISPATCH_CHECKS, _never))
        patched["torch"] = _Overlay(torch, overrides=overrides)
    copy = types.FunctionType(func.__code__, patched, func.__name__, func.__defaults__, func.__closure__)
    copy.__kwdefaults__ = func.__kwdefaults__
    return copy


_DISPATCH_CHECKS = ("has_torch_function", "has_torch_function_unary", "has_torch_function_variadic")


class _Overlay:
    """A module with some names replaced."""

    def __init__(self, module: types.ModuleType, **replaced: Any) -> None:
        self.__dict__.update(replaced)
        self._module = module

    def __getattr__(self, name: str) -> Any:
        return getattr(self._module, name)


def _never(*_tensors: Any) -> bool:
    return False


class _AtenRecorder(TorchDispatchMode):
    """Notes aten calls with the dtypes of their tensors, and the casts that come before any other call."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: _AtenCalls = []
        self.casts: Casts = {}
        self._is_opening = True

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        if func.namespace == "prim":
            return func(*args, **(kwargs or {}))
        dtypes: list[torch.dtype] = []
        map_tensors((args, kwargs or {}), lambda tensor: dtypes.append(tensor.dtype))
        self.calls.append(_AtenCall(str(func), tuple(dtypes), func.is_view or str(func) in _MOVES))
        target = (kwargs or {}).get("dtype")
        self._is_opening = self._is_opening and str(func) == _COPY
        if self._is_opening and target is not None:
            self.casts[id(args[0])] = target
        return func(*args, **(kwargs or {}))


def _observe(func: Callable[..., Any], args: Any, kwargs: Any, off_for: str | None) -> tuple[_AtenCalls, Casts]:
    recorder = _AtenRecorder()
    is_cached = torch.is_autocast_cache_enabled()
    torch.set_autocast_cache_enabled(False)
    try:
        with torch.no_grad(), recorder:
            if off_for is None:
                func(*args, **kwargs)
            else:
                with autocast_off(off_for):
                    func(*args, **kwargs)
    finally:
        torch.set_autocast_cache_enabled(is_cached)
    return recorder.calls, recorder.casts


def _num_leading_casts(calls: _AtenCalls) -> int:
    """Number of casts before any other call; an operand that stands twice is cast twice."""
    return next((position for position, call in enumerate(calls) if call.name != _COPY), len(calls))


def _observe_or_none(func: Callable[..., Any], args: Any, kwargs: Any, off_for: str) -> _AtenCalls | None:
    """The aten calls without autocast; None when torch refuses the call, as it does for operands of mixed dtypes."""
    try:
        return _observe(func, args, kwargs, off_for)[0]
    except RuntimeError:
        return None


class _FakeTwins:
    """Fake copies of operands, one per operand, so that observing a call changes nothing."""

    def __init__(self) -> None:
        self.original: dict[int, int] = {}
        self._mode: FakeTensorMode | None = None
        self._twins: dict[int, torch.Tensor] = {}

    def of(self, arguments: Any) -> Any:
        """Return `arguments` with fake twins in place of tensors."""
        return map_tensors(arguments, self.twin)

    def twin(self, tensor: torch.Tensor) -> torch.Tensor:
        """Return the twin of one operand."""
        if id(tensor) not in self._twins:
            self._twins[id(tensor)] = self._copy(tensor)
            self.original[id(self._twins[id(tensor)])] = id(tensor)
        return self._twins[id(tensor)]

    def _copy(self, tensor: torch.Tensor) -> torch.Tensor:
        if isinstance(tensor, FakeTensor):
            return tensor.detach()
        if self._mode is None:
            self._mode = FakeTensorMode(allow_non_fake_inputs=True)
        return self._mode.from_tensor(tensor.detach())
