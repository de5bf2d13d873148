"""The arguments of a foreign `forward` to tensors and numbers, from what the metadata files and annotations say.

Foreign files keep inputs and weights apart by their names only, and dynamic sizes are arguments like tensors. Here
each becomes a `TensorMeta`, or a number that stands for it everywhere: a graph is specialised by the example values
given (definitions.md section 1: integers that derive from shapes are part of the program).
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from extract.foreign_source import Argument, same_name
from extract.graph import Arg, Kind, StatsSource, TensorMeta, TensorRef, contiguous_stride
from extract.sample_metadata import DynamicSizes, MetaRecord, SampleError, Symbol
from extract.text import DTYPES

# Tensors with fewer elements carry their values (design.md section 3).
_MAX_VALUES = 64
_MAX_RANK = 64
_MAX_SIZE = 2**63 - 1
_RESERVED = frozenset({"self", "torch", "operator", "math", "builtins", "inf", "nan", "device"})
_OLD_DTYPES = {"float": "float32", "double": "float64", "half": "float16", "long": "int64", "int": "int32"}
_SHORT_DTYPES = {
    "f64": "float64", "f32": "float32", "f16": "float16", "bf16": "bfloat16", "i64": "int64", "i32": "int32",
    "i16": "int16", "i8": "int8", "u8": "uint8", "b8": "bool", "c64": "complex64", "c128": "complex128",
}  # fmt: skip
_ANNOTATED = re.compile(r"(?:\w+ )?(\w+)\[([\d, ]*)\](?:\[([\d, ]*)\])?")
_IS_SYMBOL = re.compile(r"[su]\d+|_?sym_?\w*|S\d+")
_FROM_MODULE = re.compile(r"[Ll]_self_(?:modules_)?(.*?)_?(parameters|buffers)_(.*?)_?$")


@dataclass(frozen=True, slots=True)
class Operands:
    """The tensors in forward's order; what each argument stands for, by name; the numbers put in place of sizes."""

    tensors: tuple[TensorMeta, ...]
    values: Mapping[str, Arg]
    symbols: Mapping[str, int | float | bool]


def read_operands(arguments: Sequence[Argument], records: Mapping[str, MetaRecord], sizes: DynamicSizes) -> Operands:
    """Return what the arguments stand for; raises `SampleError` for one of which nothing is known."""
    tensors: list[TensorMeta] = []
    values: dict[str, Arg] = {}
    symbols: dict[str, int | float | bool] = {name: value for name, value in sizes.examples.items()}
    taken = set(_RESERVED)
    for argument in arguments:
        record = records.get(same_name(argument.name))
        if _is_number(argument, record):
            values[argument.name] = symbols[argument.name] = _number(argument, record, symbols)
            continue
        name = argument.name
        while name in taken:
            name += "_"
        taken.add(name)
        values[argument.name] = TensorRef(len(tensors))
        tensors.append(_tensor(name, argument, record, sizes, symbols))
    return Operands(tuple(tensors), values, symbols)


def _is_number(argument: Argument, record: MetaRecord | None) -> bool:
    """Tell a SymInt from a tensor: by its annotation, by a record without a shape, or by a symbol's name."""
    if "Sym" in argument.annotation.partition("[")[0] or argument.annotation in ("int", "float", "bool"):
        return True
    if record is None:
        return not argument.annotation and _IS_SYMBOL.fullmatch(argument.name) is not None
    if record.fields.get("shape") is None:
        return record.fields.get("data") is not None or "shape" in record.fields
    is_integer = "int" in str(record.fields.get("dtype"))
    return record.fields["shape"] == [] and is_integer and _IS_SYMBOL.fullmatch(argument.name) is not None


def _number(
    argument: Argument, record: MetaRecord | None, symbols: Mapping[str, int | float | bool]
) -> int | float | bool:
    data = None if record is None else record.fields.get("data")
    given = data[0] if isinstance(data, list) and len(data) == 1 else data
    if given is None:
        named = re.search(r"Sym\w*\((\w+)\)", argument.annotation)
        given = symbols.get(argument.name, symbols.get(named.group(1)) if named else None)
        if given is None and named and named.group(1).isdigit():
            given = int(named.group(1))
    if isinstance(given, int | float) and (isinstance(given, float) or given.bit_length() <= 63):
        return given
    raise SampleError(f"argument {argument.name[:80]} is a number of which no example value is given")


def _tensor(
    name: str,
    argument: Argument,
    record: MetaRecord | None,
    sizes: DynamicSizes,
    symbols: Mapping[str, int | float | bool],
) -> TensorMeta:
    annotated = _ANNOTATED.match(argument.annotation) if argument.annotation else None
    fields = {} if record is None else record.fields
    shape = fields.get("shape")
    if shape is None:
        shape = sizes.shapes.get(same_name(argument.name))
    stride: tuple[int, ...] | None = None
    if shape is None and annotated and annotated.group(1) in _SHORT_DTYPES:
        shape = _ints(annotated.group(2))
        stride = tuple(_ints(annotated.group(3))) if annotated.group(3) else None
    if shape is None:
        raise SampleError(f"argument {argument.name[:80]} has no class in weight_meta.py or input_meta.py")
    resolved = tuple(shape)
    if not _INTS.issuperset(map(type, resolved)) or not _can_be(resolved):
        resolved = tuple([_size(size, symbols, argument.name) for size in shape])
        if not _can_be(resolved):
            raise SampleError(f"argument {argument.name[:80]} has a shape that torch cannot hold")
    short = _SHORT_DTYPES.get(annotated.group(1)) if annotated and "dtype" not in fields else None
    dtype = short or _dtype(fields.get("dtype"), argument.name)
    mean, std, low, high = [
        value if type(value) is float else _statistic(value) for value in map(fields.get, _STATISTICS)
    ]
    data = fields.get("data")
    values = None if data is None else _values(data, math.prod(resolved), dtype)
    source: StatsSource = (
        "none" if values is None and all(stat is None for stat in (mean, std, low, high)) else "values"
    )
    original = fields.get("original_name")
    original = original if isinstance(original, str) else _original_name(argument.name)
    kind = _kind(argument, record, original)
    if stride is None or len(stride) != len(resolved):
        stride = _row_major(resolved)
    return TensorMeta(name, kind, original, resolved, stride, dtype, mean, std, low, high, values, source)


_INTS: frozenset[type] = frozenset({int})
_STATISTICS = ("mean", "std", "min_val", "max_val")
_row_major = lru_cache(maxsize=1 << 14)(contiguous_stride)


@lru_cache(maxsize=1 << 14)
def _can_be(shape: tuple[int, ...]) -> bool:
    """Tell whether torch can hold a tensor of these sizes."""
    are_sizes = all(0 <= size <= _MAX_SIZE for size in shape)
    return are_sizes and len(shape) <= _MAX_RANK and math.prod(shape) <= _MAX_SIZE


def _kind(argument: Argument, record: MetaRecord | None, original: str) -> Kind:
    """Tell inputs from weights: by the class's name, else by what tracers call their arguments."""
    name = argument.name
    if record is not None and record.role == "input":
        return "input"
    last = original.rpartition(".")[2]
    if "_parameters_" in name or "Parameter" in argument.annotation or name.startswith("p_"):
        return "parameter"
    if "_buffers_" in name or last in ("running_mean", "running_var", "num_batches_tracked") or name.startswith("b_"):
        return "buffer"
    if name.lower().startswith("l_self_") or name.startswith(("c_", "_tensor_constant", "lifted_tensor")):
        return "constant"
    return "parameter" if re.fullmatch(r"(?:.*[._])?(?:weight|bias)", last) else "input"


def _original_name(name: str) -> str:
    found = _FROM_MODULE.fullmatch(name)
    if not found:
        return name
    path = [part for part in found.group(1).strip("_").split("_modules_") if part]
    return ".".join([*path, found.group(3)])


def _size(size: Any, symbols: Mapping[str, int | float | bool], name: str) -> int:
    if isinstance(size, Symbol):
        size = symbols.get(size.name)
    elif isinstance(size, str):
        size = symbols.get(size)
    if type(size) is not int or not 0 <= size <= _MAX_SIZE:
        raise SampleError(f"argument {name[:80]} has a size that is no number and has no example value")
    return size


def _dtype(given: Any, name: str) -> str:
    dtype = str(given).removeprefix("torch.")
    dtype = _OLD_DTYPES.get(dtype, dtype)
    if dtype not in DTYPES:
        raise SampleError(f"argument {name[:80]} has the dtype {str(given)[:40]!r}, which torch does not know")
    return dtype


def _statistic(value: Any) -> float | None:
    if not isinstance(value, int | float) or isinstance(value, bool):
        return None
    try:
        return float(value)
    except OverflowError:
        return None


def _values(given: Any, numel: int, dtype: str) -> tuple[float | int | bool, ...] | None:
    """Return the flat values where the layout has them: fewer than 64, one for each element."""
    if not isinstance(given, list) or len(given) != numel or numel >= _MAX_VALUES or dtype.startswith("complex"):
        return None
    if not all(isinstance(value, int | float) for value in given):
        return None
    try:
        if dtype == "bool":
            return tuple(map(bool, given))
        if dtype.startswith(("float", "bfloat")):
            return tuple(map(float, given))
        integers = tuple(map(int, given))
    except (ValueError, OverflowError):
        return None
    return integers if all(value.bit_length() <= 64 for value in integers) else None


def _ints(text: str) -> list[int]:
    return [int(part) for part in text.replace(" ", "").split(",") if part]
