"""Tensor descriptions kept as data (`float(2, c.vision_config.num_channels, 224, 224)`) to tensors, without `eval`.

The language: numbers, strings, lists, arithmetic, `c` (a config) with attributes and constant subscripts, and the calls
of the table that the caller gives. Names that open with an underscore are refused.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping
from typing import Any

_BINARY: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Div: operator.truediv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
}


class ExpressionError(ValueError):
    """An expression outside the language, or one that names what is not there."""


def evaluate(expression: str, names: Mapping[str, Any], calls: Mapping[str, Callable[..., Any]]) -> Any:
    """Return the value of an expression over `names` and `calls`; raises `ExpressionError`."""
    try:
        tree = ast.parse(expression, mode="eval").body
    except SyntaxError as error:
        raise ExpressionError(f"{expression!r} is no expression: {error}") from error
    try:
        return _value(tree, names, calls)
    except (AttributeError, KeyError, IndexError, TypeError, ZeroDivisionError) as error:
        raise ExpressionError(f"{expression!r}: {type(error).__name__}: {error}") from error


def _value(node: ast.expr, names: Mapping[str, Any], calls: Mapping[str, Callable[..., Any]]) -> Any:
    def value(child: ast.expr) -> Any:
        return _value(child, names, calls)

    match node:
        case ast.Constant():
            return node.value
        case ast.Name():
            return names[node.id]
        case ast.Attribute() if not node.attr.startswith("_"):
            return getattr(value(node.value), node.attr)
        case ast.Subscript():
            return value(node.value)[value(node.slice)]
        case ast.List() | ast.Tuple():
            elements = [value(element) for element in node.elts]
            return elements if isinstance(node, ast.List) else tuple(elements)
        case ast.Dict():
            pairs = zip(node.keys, node.values, strict=True)
            return {value(key): value(element) for key, element in pairs if key is not None}
        case ast.BinOp() if type(node.op) in _BINARY:
            return _BINARY[type(node.op)](value(node.left), value(node.right))
        case ast.UnaryOp(op=ast.USub()):
            return -value(node.operand)
        case ast.Call(func=ast.Name(id=name)) if name in calls:
            options = {option.arg: value(option.value) for option in node.keywords if option.arg is not None}
            return calls[name](*[value(arg) for arg in node.args], **options)
        case _:
            raise ExpressionError(f"{ast.unparse(node)!r} is outside the language of shape expressions")
