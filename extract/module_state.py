"""A module that runs again and again as if just built: what its forward left behind is taken back.

Forwards keep tensors of the last size (position tables, masks, rotary frequencies) as attributes, in tables, or on
objects beside the module; a next run with another size would start from them. Values of tensors are not put back: on
meta there are none, and the tracer writes into twins of real ones.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch

_CONTAINERS = (dict, list, set)
_MAX_DEPTH = 4  # a table of tables on a helper object of a submodule
_FOREIGN = ("torch.", "builtins", "collections", "functools", "types", "enum", "pathlib", "logging", "numpy", "re")


class ModuleState:
    """The attributes of a module, its submodules and the plain objects that they hold, as they are now."""

    def __init__(self, module: torch.nn.Module) -> None:
        self._kept: dict[int, tuple[Any, Any]] = {}
        for submodule in module.modules():
            self._keep(vars(submodule), 0)

    def restore(self) -> None:
        """Put the attributes back; what has not changed is left alone."""
        for container, contents in self._kept.values():
            if _differs(container, contents):
                container.clear()
                container.extend(contents) if isinstance(container, list) else container.update(contents)

    def _keep(self, container: Any, depth: int) -> None:
        if id(container) in self._kept:
            return
        self._kept[id(container)] = (container, container.copy() if type(container) in _CONTAINERS else dict(container))
        if depth < _MAX_DEPTH:
            for inner in _containers_in(container):
                self._keep(inner, depth + 1)


def _containers_in(container: Any) -> Iterator[Any]:
    for value in container.values() if isinstance(container, dict) else container:
        if isinstance(value, _CONTAINERS):
            yield value
        elif type(value).__module__.startswith(_FOREIGN) or isinstance(value, torch.nn.Module | torch.Tensor | type):
            continue
        elif isinstance(getattr(value, "__dict__", None), dict):
            yield vars(value)


def _differs(container: Any, contents: Any) -> bool:
    if len(container) != len(contents):
        return True
    if isinstance(container, dict):
        return any(now is not then for now, then in zip(container.values(), contents.values(), strict=True)) or (
            list(container) != list(contents)
        )
    if isinstance(container, set):
        return container != contents
    return any(now is not then for now, then in zip(container, contents, strict=True))
