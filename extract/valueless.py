"""Execution of calls on tensors without values: meta and fake.

Calls run for their shapes and dtypes only. Devices are forced to the tensors' own, real constants are replaced by
their twins, and what needs a value gets it from `KnownValues` or ends the trace: `data_dependent`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch._subclasses.fake_tensor import (
    DataDependentOutputException,
    DynamicOutputShapeException,
    FakeTensorMode,
)
from torch.utils._device import _device_constructors

from extract.arguments import map_tensors
from extract.canonical import has_effect
from extract.failure import Reason, SubjectError
from extract.graph import Node, Ref
from extract.known_values import KnownValues
from extract.shape_memo import shape_memo
from extract.tensor_identity import TensorIdentity

# What torch raises when a call cannot run without values (fake tensors' exceptions are RuntimeErrors).
EXECUTION_ERRORS = (RuntimeError, TypeError, ValueError)

_VALUE_SHAPED = frozenset(
    {"nonzero", "argwhere", "unique", "unique_consecutive", "masked_select", "bincount", "repeat_interleave"}
)
# What kernels say on meta tensors when they miss values; the last comes from custom ops that make dynamic sizes.
_VALUE_WORDS = ("meta tensor", "nonzero", "data-dependent shape")


@dataclass(frozen=True, slots=True)
class Numbers:
    """A call's arguments with known 0-dim integer tensors as numbers, and the refs that were read."""

    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    refs: tuple[Ref, ...]


class Valueless:
    """Executes calls on meta tensors, or on the fake tensors of `fake_mode` where given."""

    def __init__(self, identity: TensorIdentity, nodes: Sequence[Node], fake_mode: FakeTensorMode | None) -> None:
        self.is_meta = fake_mode is None
        self._identity = identity
        self._fake_mode = fake_mode
        self._device = torch.device("meta" if fake_mode is None else "cpu")
        self._known = KnownValues(nodes, identity.lifted)
        self._constructors = _device_constructors()

    def execute(self, func: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Run a call; factories make valueless tensors whatever device they name."""
        if self._identity.has_twins:
            args = map_tensors(args, self._identity.executable)
            kwargs = map_tensors(kwargs, self._identity.executable)
        if kwargs.get("device") is not None or (self.is_meta and func in self._constructors):
            kwargs = {**kwargs, "device": self._device}
        if self._fake_mode is not None and func in self._constructors:
            with self._fake_mode:
                return func(*args, **kwargs)
        if self.is_meta and func not in self._constructors:
            return shape_memo().call(func, args, kwargs)
        return func(*args, **kwargs)

    def move(self, func: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Run `to`, `cpu` or `cuda` without the move: what is left of it is a cast, or nothing."""
        args = map_tensors(args, self._identity.executable)
        if func is not torch.Tensor.to:
            return args[0]
        kept = tuple(arg for arg in args[1:] if not isinstance(arg, str | torch.device) and not _is_ordinal(arg))
        options = {name: map_tensors(arg, self._identity.executable) for name, arg in kwargs.items()}
        options.pop("device", None)
        options.pop("non_blocking", None)
        if all(arg is None or isinstance(arg, bool) for arg in kept) and not options:
            return args[0]
        return torch.Tensor.to(args[0], *kept, **options)

    def values_of(self, arguments: Any, method: str, subject: str) -> Any:
        """Return `arguments` with their known values; raises `SubjectError` where a value is not known."""

        def value(tensor: torch.Tensor) -> torch.Tensor:
            known = self._known.of(self._identity.ref_of(tensor))
            if known is None:
                detail = f"{method} reads a {tensor.dtype} tensor of shape {tuple(tensor.shape)}, value not known"
                raise SubjectError(subject, Reason.DATA_DEPENDENT, detail)
            return known.clone()

        return map_tensors(arguments, value)

    def with_numbers(self, func: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Numbers | None:
        """Replace known 0-dim integer operands by numbers, but not the tensor worked on; None when there is none.

        Sizes, slice bounds and repeats may be such tensors, and a meta tensor cannot be any of them.
        """
        refs: list[Ref] = []

        def number(tensor: torch.Tensor) -> Any:
            ref = self._identity.ref_of(tensor)
            known = self._known.of(ref) if tensor.dim() == 0 and not tensor.dtype.is_floating_point else None
            if known is None:
                return tensor
            refs.append(ref)
            return known.item()

        num_kept = 0 if func in self._constructors else 1 if args and isinstance(args[0], torch.Tensor) else 0
        kept, rest = args[:num_kept], args[num_kept:]
        replaced = (*kept, *map_tensors(rest, number))
        options = map_tensors(kwargs, number)
        return Numbers(replaced, options, tuple(refs)) if refs else None

    def rescue(self, node: Node, args: tuple[Any, ...], error: Exception, subject: str) -> Any:
        """Return what a failed call gives on known values, as twins; else raise `error` or `data_dependent`."""
        returned = None if has_effect(node) else self._known.run(node)
        if returned is None and node.op == "getitem":
            returned = self._index_by_positions(args)
        if returned is not None:
            return map_tensors(returned, self._twin)
        is_value_error = isinstance(error, DataDependentOutputException | DynamicOutputShapeException)
        if is_value_error or node.op in _VALUE_SHAPED or any(words in str(error) for words in _VALUE_WORDS):
            detail = f"{node.target} needs values: {' '.join(str(error).split())[:200]}"
            raise SubjectError(subject, Reason.DATA_DEPENDENT, detail) from error
        raise error

    def _index_by_positions(self, args: tuple[Any, ...]) -> Any:
        """Index a valueless tensor by known masks, each as the positions that it selects; None with unknown ones."""
        tensor, index = args
        positions: list[Any] = []
        for element in index if isinstance(index, tuple) else (index,):
            if not isinstance(element, torch.Tensor) or element.dtype is not torch.bool:
                positions.append(element)
                continue
            known = self._known.of(self._identity.ref_of(element))
            if known is None:
                return None
            positions.extend(self._twin(selected) for selected in known.nonzero(as_tuple=True))
        return self.execute(torch.Tensor.__getitem__, (tensor, tuple(positions)), {})

    def _twin(self, tensor: torch.Tensor) -> torch.Tensor:
        return tensor.to("meta") if self._fake_mode is None else self._fake_mode.from_tensor(tensor)


def _is_ordinal(arg: Any) -> bool:
    return isinstance(arg, int) and not isinstance(arg, bool)
