"""A module that runs again and again as if just built: what its forward left behind is taken back.

Forwards keep tensors of the last size (position tables, masks, rotary frequencies) as attributes, in tables, or on
objects beside the module; a next run with another size would start from them. Values that a run wrote into tensors are
not put back: on meta there are none, and the tracer writes into twins of real ones. Parameters that were cast since are
what they were.
"""

from __future__ import annotations

from collections.abc import Iterator
from operator import is_
from types import FunctionType
from typing import Any

import torch

_CONTAINERS = (dict, list, set)
_FORWARD_HOOKS = frozenset(
    "_forward_hooks _forward_hooks_with_kwargs _forward_hooks_always_called "
    "_forward_pre_hooks _forward_pre_hooks_with_kwargs".split()
)
_MAX_DEPTH = 4  # a table of tables on a helper object of a submodule
_FOREIGN = ("torch.", "builtins", "collections", "functools", "types", "enum", "pathlib", "logging", "numpy", "re")


class ModuleState:
    """The attributes of a module, its submodules and the plain objects that they hold, as they are now."""

    def __init__(self, module: torch.nn.Module) -> None:
        self._kept: dict[int, tuple[Any, Any]] = {}
        self._parameters = [(parameter, parameter.data) for parameter in module.parameters()]
        never_change = frozenset(vars(torch.nn.Module())) - {"_parameters", "_buffers", "_modules"}
        self._passed_over = never_change - _FORWARD_HOOKS
        for submodule in module.modules():
            self._keep(vars(submodule), 0)

    def restore(self) -> None:
        """Put the attributes back, and the memory of parameters; what has not changed is left alone."""
        for parameter, data in self._parameters:
            if parameter.dtype != data.dtype:
                parameter.data = data  # `Module.to` casts in place
        for container, contents in self._kept.values():
            if _differs(container, contents):
                container.clear()
                container.extend(contents) if isinstance(container, list) else container.update(contents)

    def _keep(self, container: Any, depth: int) -> None:
        if id(container) in self._kept:
            return
        self._kept[id(container)] = (container, container.copy() if type(container) in _CONTAINERS else dict(container))
        if depth < _MAX_DEPTH:
            for inner in self._containers_in(container):
                self._keep(inner, depth + 1)

    def _containers_in(self, container: Any) -> Iterator[Any]:
        """Yield what may change inside a container: of a module's tables of hooks those of its forward, some of which
        transformers installs in the first run, and marks the module."""
        for name, value in container.items() if isinstance(container, dict) else enumerate(container):
            if isinstance(value, _CONTAINERS):
                if name not in self._passed_over:
                    yield value
            elif _is_plain_object(value):
                yield vars(value)


def _is_plain_object(value: Any) -> bool:
    kind = type(value)
    if kind.__module__.startswith(_FOREIGN) or isinstance(value, torch.nn.Module | torch.Tensor | type | FunctionType):
        return False
    return isinstance(getattr(value, "__dict__", None), dict)


def _differs(container: Any, contents: Any) -> bool:
    if len(container) != len(contents):
        return True
    if isinstance(container, set):
        return container != contents
    if isinstance(container, dict) and not all(map(is_, container.values(), contents.values())):
        return True
    return not all(map(is_, container, contents))
