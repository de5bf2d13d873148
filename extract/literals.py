"""One call's arguments as one JSON text (column `nodes.literals`), operands as references, and back.

JSON has no tuples, slices, dtypes or non-finite floats, so these are objects with one key: `{"op": [3, 0]}` (op 3,
element 0), `{"tensor": 2}`, `{"tuple": [...]}`, `{"slice": [a, b, c]}`, `{"dtype": "float32"}`, `{"float": "inf"}`,
`{"complex": [re, im]}`, `{"ellipsis": true}`; lists, numbers, strings, booleans and null are themselves.
"""

from __future__ import annotations

import json
import math
from types import EllipsisType
from typing import Any

from extract.call_forms import Form, FormMemo, Template, call_form, read_template, slot_mark
from extract.graph import REFS, Arg, ArgList, ArgSlice, Node, OpRef, Ref, TensorRef, TorchConstant

_dumps = json.JSONEncoder(separators=(",", ":")).encode
_TORCH_KINDS = ("dtype", "device", "memory_format", "layout")


def arguments_json(node: Node) -> str:
    """Return `{"args": [...], "kwargs": {...}}` of a call, lossless."""
    return formed_json(*call_form(node))


def formed_json(form: Form, refs: list[Ref]) -> str:
    """Return `arguments_json` of the call of this form with these operands."""
    return _templates.find(form).fill([_ref_text(ref) for ref in refs])


def _template(call: Node) -> Template:
    args = ",".join([value_json(arg) for arg in call.args])
    named = {name: value_json(value) for name, value in call.kwargs}
    kwargs = ",".join([f"{_dumps(name)}:{text}" for name, text in named.items()])
    return read_template(f'{{"args":[{args}],"kwargs":{{{kwargs}}}}}')


_templates = FormMemo(_template)


def _ref_text(ref: Ref) -> str:
    if isinstance(ref, TensorRef):
        return f'{{"tensor":{ref.index}}}'
    path = f",{','.join(map(str, ref.path))}" if ref.path else ""
    return f'{{"op":[{ref.index}{path}]}}'


def arguments_from_json(text: str) -> tuple[tuple[Arg, ...], tuple[tuple[str, Arg], ...]]:
    """Return a call's positional and keyword arguments; raises `ValueError` on a text that is not ours."""
    call = json.loads(text)
    args = tuple(value_from_json(arg) for arg in call["args"])
    return args, tuple((name, value_from_json(value)) for name, value in call["kwargs"].items())


def value_json(value: Arg) -> str:
    """Return the JSON of one value, marks for its slots; made as text, without the objects that an encoder takes."""
    if type(value) is int:
        return repr(value)
    if isinstance(value, REFS):
        return slot_mark(value)
    if isinstance(value, tuple):
        return f'{{"tuple":{_texts(value)}}}'
    if isinstance(value, ArgList):
        return _texts(value.elements)
    if isinstance(value, ArgSlice):
        return f'{{"slice":{_texts((value.start, value.stop, value.step))}}}'
    if isinstance(value, TorchConstant):
        return f"{{{_dumps(value.kind)}:{_dumps(value.name)}}}"
    if isinstance(value, complex):
        return f'{{"complex":{_texts((value.real, value.imag))}}}'
    if isinstance(value, EllipsisType):
        return '{"ellipsis":true}'
    if isinstance(value, float) and not math.isfinite(value):
        return f'{{"float":{_dumps(repr(value))}}}'
    return _dumps(value)


def _texts(values: tuple[Arg, ...]) -> str:
    return f"[{','.join([value_json(value) for value in values])}]"


def value_from_json(value: Any) -> Arg:
    """Return the value behind parsed JSON; raises `ValueError` on an object that is not ours."""
    if isinstance(value, list):
        return ArgList(tuple(value_from_json(element) for element in value))  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
    if not isinstance(value, dict):
        return value
    ((kind, content),) = value.items()  # pyright: ignore[reportUnknownVariableType]
    return _decode_object(str(kind), content)  # pyright: ignore[reportUnknownArgumentType]


def _decode_object(kind: str, content: Any) -> Arg:
    if kind in _TORCH_KINDS:
        return TorchConstant(kind, content)
    if kind == "op":
        return OpRef(content[0], tuple(content[1:]))
    if kind == "tensor":
        return TensorRef(content)
    if kind == "tuple":
        return tuple(value_from_json(element) for element in content)
    if kind == "slice":
        return ArgSlice(*(value_from_json(bound) for bound in content))
    if kind == "complex":
        real, imaginary = (value_from_json(part) for part in content)
        return complex(real, imaginary)  # pyright: ignore[reportArgumentType, reportCallIssue]
    if kind == "float":
        return float(content)
    if kind == "ellipsis":
        return ...
    raise ValueError(f"unknown literal kind {kind!r}")
