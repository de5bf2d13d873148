"""Expressions of the inputs table are a small language: what lies outside it is refused, never run."""

from types import SimpleNamespace
from typing import Any

import pytest

from extract.shape_expressions import ExpressionError, evaluate

NAMES = {"c": SimpleNamespace(vision=SimpleNamespace(size=14, sides=[3, 5]), _secret=1)}
CALLS = {"double": lambda value, *, plus=0: 2 * value + plus}


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("c.vision.size ** 2 * 3 // 4 - -1", 148),
        ("c.vision.sides[-1] % 3", 2),
        ("[1, (2, 'x')]", [1, (2, "x")]),
        ("{'a': c.vision.sides[0]}", {"a": 3}),
        ("double(c.vision.size, plus=1)", 29),
    ],
)
def test_expressions_are_evaluated(expression: str, value: Any) -> None:
    assert evaluate(expression, NAMES, CALLS) == value


@pytest.mark.parametrize(
    "expression",
    [
        "c._secret",
        "c.__class__",
        "__import__('os')",
        "open('x')",
        "[x for x in c.vision.sides]",
        "(lambda: 1)()",
        "c.vision.size.bit_length()",
        "double.__globals__",
        "c.nothing",
        "1 / 0",
        "1 +",
        "f'{c}'",
    ],
)
def test_what_lies_outside_the_language_is_refused(expression: str) -> None:
    with pytest.raises(ExpressionError):
        evaluate(expression, NAMES, CALLS)
