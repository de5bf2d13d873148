"""Building a model on the meta device, quickly: what only writes values into meta tensors is left out.

Initialisers fill tensors that hold no values, yet on meta they cost more than the rest of a constructor. Here they
return their tensor untouched, and other meta calls come from memory (`extract.shape_memo`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.overrides import TorchFunctionMode
from torch.utils._device import _device_constructors

from extract.arguments import map_tensors
from extract.recorder import behaviours
from extract.shape_memo import shape_memo

# In-place methods that change values and neither shape nor stride.
_WRITERS = (
    "uniform_ normal_ fill_ zero_ erfinv_ mul_ add_ sub_ div_ clamp_ copy_ bernoulli_ exponential_ log_normal_ "
    "trunc_ abs_ sqrt_ exp_ log_ masked_fill_ clamp_min_ clamp_max_"
).split()


# What a constructor makes from numbers alone: with `keep_small` it keeps its values when it is no larger than this.
_KEPT_ELEMENTS = 1 << 16
_VALUED_FACTORIES = (
    "arange",
    "linspace",
    "logspace",
    "tensor",
    "as_tensor",
    "zeros",
    "ones",
    "full",
    "eye",
    "scalar_tensor",
)


def build_on_meta(constructor: Callable[[], torch.nn.Module], *, keep_small: bool = False) -> torch.nn.Module:
    """Return what `constructor` builds with the meta device as default, in eval mode; raises whatever it raises.

    Tensors that the constructor makes on another device by name keep their values. With `keep_small` so do small
    ones that it makes from numbers alone (positions, rotary frequencies), since a forward may read them; parameters
    are always on meta.
    """
    with torch.device("meta"), _WithoutValues(keep_small):
        module = constructor().eval()
    if keep_small:
        _move_parameters(module)
    return module


def _move_parameters(module: torch.nn.Module) -> None:
    moved: dict[int, torch.nn.Parameter] = {}
    for submodule in module.modules():
        for name, parameter in submodule._parameters.items():
            if parameter is not None and not parameter.is_meta:
                moved.setdefault(id(parameter), torch.nn.Parameter(parameter.to("meta"), parameter.requires_grad))
                submodule._parameters[name] = moved[id(parameter)]


class _WithoutValues(TorchFunctionMode):
    """Skips writes into meta tensors; answers other calls on meta tensors from memory."""

    def __init__(self, keep_small: bool) -> None:
        super().__init__()
        self._keeps_small = keep_small
        self._valued = frozenset(getattr(torch, name) for name in _VALUED_FACTORIES)
        self._behaviours = behaviours()
        self._constructors = _device_constructors()
        self._writers = frozenset(getattr(torch.Tensor, name) for name in _WRITERS)

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        kwargs = kwargs or {}
        if func in self._constructors:
            return self._make(func, args, kwargs)
        if func in self._behaviours:
            return func(*args, **kwargs)
        written = args[0] if args else kwargs.get("tensor")
        if isinstance(written, torch.Tensor) and written.is_meta:
            if func in self._writers or getattr(func, "__module__", None) == "torch.nn.init":
                return written
            if func is torch.Tensor.__setitem__:
                return None
        if self._keeps_small:
            return self._call_mixed(func, args, kwargs)
        return shape_memo().call(func, args, kwargs)

    def _make(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Run a factory: small ones that are made from numbers stay on the CPU."""
        if not self._keeps_small or func not in self._valued or not _names_meta(kwargs.get("device")):
            return func(*args, **kwargs)
        made = func(*args, **{**kwargs, "device": "meta"})
        return func(*args, **{**kwargs, "device": "cpu"}) if made.numel() <= _KEPT_ELEMENTS else made

    def _call_mixed(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Run a call on CPU tensors where all its operands are; else on meta ones."""
        operands: list[torch.Tensor] = []
        map_tensors((args, kwargs), operands.append)
        if any(operand.is_meta for operand in operands):
            args, kwargs = map_tensors(args, _to_meta), map_tensors(kwargs, _to_meta)
            return shape_memo().call(func, args, kwargs)
        if func is torch.Tensor.to or func is torch.Tensor.cuda:
            args = tuple(torch.device("cpu") if _is_meta_name(arg) else arg for arg in args)
            kwargs = {name: torch.device("cpu") if _is_meta_name(arg) else arg for name, arg in kwargs.items()}
        return func(*args, **kwargs)


def _to_meta(tensor: torch.Tensor) -> torch.Tensor:
    return tensor if tensor.is_meta else tensor.to("meta")


def _names_meta(device: Any) -> bool:
    """Tell whether a factory would make its tensor on meta: by name or by the default."""
    return device is None or _is_meta_name(device)


def _is_meta_name(arg: Any) -> bool:
    return (
        isinstance(arg, str | torch.device) and torch.device(arg).type == "meta" if not isinstance(arg, bool) else False
    )
