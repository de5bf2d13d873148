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

from extract.recorder import behaviours
from extract.shape_memo import shape_memo

# In-place methods that change values and neither shape nor stride.
_WRITERS = (
    "uniform_ normal_ fill_ zero_ erfinv_ mul_ add_ sub_ div_ clamp_ copy_ bernoulli_ exponential_ log_normal_ "
    "trunc_ abs_ sqrt_ exp_ log_ masked_fill_ clamp_min_ clamp_max_"
).split()


def build_on_meta(constructor: Callable[[], torch.nn.Module]) -> torch.nn.Module:
    """Return what `constructor` builds with the meta device as default, in eval mode; raises whatever it raises.

    Tensors that the constructor makes on another device by name keep their values.
    """
    with torch.device("meta"), _WithoutValues():
        return constructor().eval()


class _WithoutValues(TorchFunctionMode):
    """Skips writes into meta tensors; answers other calls on meta tensors from memory."""

    def __init__(self) -> None:
        super().__init__()
        self._behaviours = behaviours()
        self._constructors = _device_constructors()
        self._writers = frozenset(getattr(torch.Tensor, name) for name in _WRITERS)

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        kwargs = kwargs or {}
        if func in self._behaviours or func in self._constructors:
            return func(*args, **kwargs)
        written = args[0] if args else kwargs.get("tensor")
        if isinstance(written, torch.Tensor) and written.is_meta:
            if func in self._writers or getattr(func, "__module__", None) == "torch.nn.init":
                return written
            if func is torch.Tensor.__setitem__:
                return None
        return shape_memo().call(func, args, kwargs)
