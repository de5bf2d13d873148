"""The metadata files of a sample to plain values: one record per class of `weight_meta.py` and `input_meta.py`.

Read with `ast`, never executed: a value that is no literal is an error where we need it and ignored where we do not.
Symbols of dynamic sizes (`shape = [S0, 3]`) come back as `Symbol`; `input_tensor_constraints.py` says which example
values stand for them.
"""

from __future__ import annotations

import ast
import math
import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

_CLASS_PREFIXES = ("Program_weight_tensor_meta_", "Program_input_tensor_meta_")
_NEEDED = frozenset({"name", "shape", "dtype", "mean", "std", "min_val", "max_val", "data", "original_name"})
_NAMED = {"nan": math.nan, "inf": math.inf, "NaN": math.nan, "Infinity": math.inf}
_MAX_DEPTH = 40


class SampleError(ValueError):
    """Files that are not a sample; says which file and what is wrong in it."""


@dataclass(frozen=True, slots=True)
class Symbol:
    """A dynamic size by its name."""

    name: str


@dataclass(frozen=True, slots=True)
class MetaRecord:
    """The attributes of one class, those of `_NEEDED` alone; `role` is `weight` or `input`, as the class is named."""

    role: str
    fields: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class DynamicSizes:
    """Example values of symbols, and shapes (of ints and symbols) by argument."""

    examples: Mapping[str, int] = field(default_factory=dict[str, int])
    shapes: Mapping[str, tuple[Any, ...]] = field(default_factory=dict[str, tuple[Any, ...]])


def read_metadata(text: str, file_name: str) -> dict[str, MetaRecord]:
    """Return the records of a metadata file by argument name; raises `SampleError`."""
    plain = _read_plain(text)
    if plain is not None:
        return plain
    records: dict[str, MetaRecord] = {}
    for statement in _parse(text, file_name).body:
        if isinstance(statement, ast.ClassDef):
            role = "input" if statement.name.startswith(_CLASS_PREFIXES[1]) else "weight"
            fields = _fields(statement, file_name)
            name = fields.get("name") or statement.name.removeprefix(_CLASS_PREFIXES[role == "input"])
            records[unicodedata.normalize("NFKC", str(name))] = MetaRecord(role, fields)
    return records


def read_dynamic_sizes(text: str) -> DynamicSizes:
    """Return what `input_tensor_constraints.py` says of symbols; what it says in other ways is left out."""
    examples: dict[str, int] = {}
    shapes: dict[str, tuple[Any, ...]] = {}
    for statement in _parse(text, "input_tensor_constraints.py").body:
        if not isinstance(statement, ast.Assign | ast.AnnAssign) or statement.value is None:
            continue
        if isinstance(statement.value, ast.Dict):
            examples.update(_examples(statement.value))
        elif isinstance(statement.value, ast.List):
            shapes.update(_shapes(statement.value))
    return DynamicSizes(examples, shapes)


def _read_plain(text: str) -> dict[str, MetaRecord] | None:
    """Read a file of one literal a line, as machines write them, several times as fast as `ast` does; None for others.

    Each line must be one of two forms, so nothing that `ast` would read otherwise passes.
    """
    records: dict[str, MetaRecord] = {}
    fields: dict[str, Any] | None = None
    role = default = ""

    def close() -> None:
        if fields is not None:
            records[unicodedata.normalize("NFKC", str(fields.get("name") or default))] = MetaRecord(role, fields)

    for line in text.splitlines():
        if not line:
            continue
        row = _known_row(line) if len(line) <= _MAX_ROW else _read_row(line)
        if fields is not None and row is not None:
            name, value = row
            if value is _NOT_PLAIN:
                return None
            if name:
                fields[name] = value
            continue
        head = _HEAD.fullmatch(line)
        if head is None:
            return None
        close()
        fields, role = {}, "input" if head.group(1) == "input" else "weight"
        default = head.group(2)
    close()
    return records


_HEAD = re.compile(r"class Program_(weight|input)_tensor_meta_([A-Za-z0-9_]+):", re.ASCII)
_START = re.compile(r"(?:    |\t)[a-z_]+", re.ASCII)
_NEEDED_STARTS = {f"{indent}{name}": name for name in _NEEDED for indent in ("    ", "\t")}
_INTEGER = re.compile(r"-?(?:0|[1-9]\d{0,18})", re.ASCII)
_FLOAT = re.compile(r"-?\d+\.\d*(?:e[+-]?\d+)?|-?\d+e[+-]?\d+", re.ASCII)
_CONSTANTS = {"None": None, "True": True, "False": False}
_NOT_PLAIN = object()


def _read_row(line: str) -> tuple[str, Any] | None:
    """Return a line's attribute, empty where nobody needs it, and its value; None for a line of another form."""
    start, _, written = line.partition(" = ")
    name = _NEEDED_STARTS.get(start, "")
    return (name, _plain_value(written)) if written and (name or _START.fullmatch(start)) else None


_known_row = lru_cache(maxsize=8192)(_read_row)
_MAX_ROW = 200
"""Characters of a line that is remembered: most repeat, others would fill the memory."""


def _plain_value(text: str) -> Any:
    """Return the literal that a text is, where it is a simple one, or a list of numbers."""
    if text[0] in "'\"":
        content = text[1:-1]
        is_one = text[0] == text[-1] and len(text) > 1 and text[0] not in content and "\\" not in content
        return content if is_one else _NOT_PLAIN
    if text[0] == "[" and text[-1] == "]":
        elements = [_plain_scalar(part.strip(" ")) for part in text[1:-1].split(",")] if text != "[]" else []
        return _NOT_PLAIN if any(element is _NOT_PLAIN for element in elements) else elements
    return _plain_scalar(text)


@lru_cache(maxsize=8192)
def _plain_scalar(text: str) -> Any:
    if text in _CONSTANTS:
        return _CONSTANTS[text]
    if _INTEGER.fullmatch(text):
        return int(text)
    return float(text) if _FLOAT.fullmatch(text) else _NOT_PLAIN


def _parse(text: str, file_name: str) -> ast.Module:
    try:
        return ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise SampleError(f"{file_name} is not Python source: {type(error).__name__}: {str(error)[:200]}") from error


def _fields(statement: ast.ClassDef, file_name: str) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    for row in statement.body:
        goals = row.targets if isinstance(row, ast.Assign) else [row.target] if isinstance(row, ast.AnnAssign) else []
        for goal in goals:
            if isinstance(goal, ast.Name) and goal.id in _NEEDED and row.value is not None:  # pyright: ignore[reportAttributeAccessIssue]
                try:
                    fields[goal.id] = _value(row.value, 0)  # pyright: ignore[reportAttributeAccessIssue]
                except ValueError as error:
                    detail = f"{file_name}, line {row.lineno}: {goal.id} of {statement.name[:80]} is no literal"
                    raise SampleError(detail) from error
    return fields


def _value(node: ast.expr, depth: int) -> Any:
    """Evaluate a literal; raises ValueError for anything else."""
    if isinstance(node, ast.Constant):
        return node.value
    if depth > _MAX_DEPTH:
        raise ValueError("nested too deep")
    if isinstance(node, ast.List | ast.Tuple):
        return [_value(element, depth + 1) for element in node.elts]
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.UAdd):
        number = _value(node.operand, depth + 1)
        if not isinstance(number, int | float):
            raise ValueError("no number")
        return -number if isinstance(node.op, ast.USub) else number
    if isinstance(node, ast.Name):
        return _NAMED[node.id] if node.id in _NAMED else Symbol(node.id)
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
        return _NAMED.get(node.attr, f"{node.value.id}.{node.attr}")
    if isinstance(node, ast.Call):
        return _float_call(node)
    raise ValueError("no literal")


def _float_call(node: ast.Call) -> float:
    is_float = isinstance(node.func, ast.Name) and node.func.id == "float" and len(node.args) == 1 and not node.keywords
    if not is_float or not isinstance(node.args[0], ast.Constant):
        raise ValueError("no literal")
    given = node.args[0].value
    if not isinstance(given, str | int | float):
        raise ValueError("no number")
    return float(given)


def _examples(node: ast.Dict) -> dict[str, int]:
    found: dict[str, int] = {}
    for key, value in zip(node.keys, node.values, strict=True):
        name = key.id if isinstance(key, ast.Name) else key.value if isinstance(key, ast.Constant) else None
        if isinstance(name, str) and isinstance(value, ast.Constant) and type(value.value) is int:
            found[name] = value.value
    return found


def _shapes(node: ast.List) -> dict[str, tuple[Any, ...]]:
    found: dict[str, tuple[Any, ...]] = {}
    for element in node.elts:
        try:
            pair = _value(element, 0)
        except ValueError:
            continue
        is_pair = isinstance(pair, list) and len(pair) == 2 and isinstance(pair[0], list) and isinstance(pair[1], str)
        if is_pair and all(isinstance(size, int | Symbol) for size in pair[0]):
            found[unicodedata.normalize("NFKC", pair[1])] = tuple(pair[0])
    return found
