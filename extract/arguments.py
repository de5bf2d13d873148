"""Python call arguments to `Arg` values and back: the only place that knows both spellings of a literal.

Tensors become refs through the caller's function; numpy scalars become Python numbers; `torch.Size` and named tuples
become tuples; dtypes, devices, memory formats and layouts become `TorchConstant`.
"""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import Any

import torch

from extract.graph import Arg, ArgList, ArgSlice, OpRef, Ref, TensorRef, TorchConstant

_PLAIN: frozenset[type] = frozenset({int, float, bool, str, complex, type(None), types.EllipsisType})
_CONSTANT_KINDS: dict[type, Any] = {
    torch.dtype: "dtype",
    torch.device: "device",
    torch.memory_format: "memory_format",
    torch.layout: "layout",
}
_LEGACY_TYPES: dict[str, str] = {
    "FloatTensor": "float32",
    "DoubleTensor": "float64",
    "HalfTensor": "float16",
    "BFloat16Tensor": "bfloat16",
    "LongTensor": "int64",
    "IntTensor": "int32",
    "ShortTensor": "int16",
    "CharTensor": "int8",
    "ByteTensor": "uint8",
    "BoolTensor": "bool",
}


class UnsupportedArgument(TypeError):
    """An argument that no graph can hold."""


def encode(argument: Any, ref_of: Callable[[Any], Ref], operand: type = torch.Tensor) -> Arg:
    """Return `argument` as graph argument; raises `UnsupportedArgument` for a type that a graph cannot hold.

    Instances of `operand` become what `ref_of` gives for them.
    """
    kind = type(argument)
    if kind in _PLAIN:
        return argument
    if isinstance(argument, operand):
        return ref_of(argument)
    if isinstance(argument, tuple | range):
        return tuple([encode(element, ref_of, operand) for element in argument])
    if isinstance(argument, list):
        return ArgList(tuple([encode(element, ref_of, operand) for element in argument]))
    if kind in _CONSTANT_KINDS:
        return TorchConstant(_CONSTANT_KINDS[kind], str(argument).removeprefix("torch."))
    if kind is slice:
        bounds = (argument.start, argument.stop, argument.step)
        return ArgSlice(*[encode(bound, ref_of, operand) for bound in bounds])
    return _encode_rare(argument)


def _encode_rare(argument: Any) -> Arg:
    """Encode subclasses of numbers, numpy scalars and legacy tensor types."""
    if isinstance(argument, int | float | str | complex):
        return next(base for base in (int, float, str, complex) if isinstance(argument, base))(argument)  # pyright: ignore
    if type(argument).__module__ == "numpy" and getattr(argument, "ndim", None) == 0:
        return argument.item()
    if isinstance(argument, type) and argument in (bool, int, float):
        return TorchConstant("dtype", {bool: "bool", int: "int64", float: "float64"}[argument])
    legacy = getattr(argument, "__name__", "")
    if legacy in _LEGACY_TYPES and getattr(argument, "__module__", "") == "torch":
        return TorchConstant("dtype", _LEGACY_TYPES[legacy])
    raise UnsupportedArgument(f"argument of type {type(argument).__module__}.{type(argument).__qualname__}")


def decode(arg: Arg, lookup: Callable[[Ref], Any], device: torch.device | None = None) -> Any:
    """Return the Python value of a graph argument; device literals become `device` when one is given."""
    kind = type(arg)
    if kind in _PLAIN:
        return arg
    if isinstance(arg, TensorRef | OpRef):
        return lookup(arg)
    if isinstance(arg, tuple):
        return tuple([decode(element, lookup, device) for element in arg])
    if isinstance(arg, ArgList):
        return [decode(element, lookup, device) for element in arg.elements]
    if isinstance(arg, ArgSlice):
        return slice(*[decode(bound, lookup, device) for bound in (arg.start, arg.stop, arg.step)])
    if isinstance(arg, TorchConstant):
        return _decode_constant(arg, device)
    raise UnsupportedArgument(f"argument of type {kind.__qualname__}")


def _decode_constant(constant: TorchConstant, device: torch.device | None) -> Any:
    if constant.kind == "device":
        return torch.device(constant.name) if device is None else device
    value = getattr(torch, constant.name, None)
    if type(value) not in _CONSTANT_KINDS:
        raise UnsupportedArgument(f"torch has no {constant.kind} named {constant.name}")
    return value


def map_tensors(argument: Any, change: Callable[[Any], Any], operand: type = torch.Tensor) -> Any:
    """Return `argument` with `change` applied to every tensor in (named) tuples, lists, slices and dicts.

    Instances of `operand` are what counts as a tensor.
    """
    if isinstance(argument, operand):
        return change(argument)
    if isinstance(argument, tuple):
        elements = [map_tensors(element, change, operand) for element in argument]
        if hasattr(argument, "_fields"):
            return type(argument)(*elements)
        return tuple(elements) if type(argument) in (tuple, torch.Size) else type(argument)(elements)
    if isinstance(argument, list):
        return [map_tensors(element, change, operand) for element in argument]
    if isinstance(argument, dict):
        return {key: map_tensors(element, change, operand) for key, element in argument.items()}
    if isinstance(argument, slice):
        bounds = (argument.start, argument.stop, argument.step)
        return slice(*[map_tensors(bound, change, operand) for bound in bounds])
    return argument
