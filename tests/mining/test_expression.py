"""Expressions and their texts."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mining.expression import (
    Axis,
    Constraint,
    Expression,
    ExpressionError,
    IfOne,
    Number,
    add,
    floor_divide,
    multiply,
)
from mining.expression_text import parse, parse_constraint

AXES = ("batch", "height", "width")
LEAVES: st.SearchStrategy[Expression] = st.one_of(st.integers(-50, 50).map(Number), st.sampled_from(AXES).map(Axis))
EXPRESSIONS = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.lists(inner, min_size=1, max_size=3).map(lambda terms: add(*terms)),
        st.lists(inner, min_size=1, max_size=3).map(lambda factors: multiply(*factors)),
        st.tuples(inner, st.integers(1, 40)).map(lambda pair: floor_divide(*pair)),
        st.tuples(st.sampled_from(AXES).map(Axis), inner, inner).map(lambda parts: IfOne(*parts)),
    ),
    max_leaves=8,
)
SIZES = st.fixed_dictionaries({axis: st.integers(1, 600) for axis in AXES})


@given(EXPRESSIONS)
def test_a_text_reads_back_as_the_same_expression(expression: Expression) -> None:
    assert parse(expression.text) == expression


@given(EXPRESSIONS, SIZES)
def test_a_text_means_what_python_would_make_of_it(expression: Expression, sizes: dict[str, int]) -> None:
    names = {**sizes, "if_one": lambda axis, one, other: one if axis == 1 else other}
    assert expression.evaluate(sizes) == eval(expression.text, {"__builtins__": {}}, names)


@given(EXPRESSIONS, EXPRESSIONS, st.integers(1, 64), SIZES)
def test_constraints_read_back_and_hold_alike(
    left: Expression, right: Expression, modulus: int, sizes: dict[str, int]
) -> None:
    for constraint in (Constraint(left, right), Constraint(left, modulus=modulus)):
        back = parse_constraint(constraint.text)
        assert back == constraint
        assert back.check(sizes) == constraint.check(sizes)
    assert Constraint(left, right).check(sizes) == (left.evaluate(sizes) == right.evaluate(sizes))
    assert Constraint(left, modulus=modulus).check(sizes) == (left.evaluate(sizes) % modulus == 0)


@pytest.mark.parametrize(
    "text",
    [
        "", "batch*", "(batch", "batch)", "2 batch", "batch/2", "batch//0", "batch//height", "batch**2", "a.b",
        "f(batch)", "__import__('os')", "1.5",
        "batch//-2", "if_one(2, 1, 1)", "if_one(batch, 1)", "(" * 500 + "1" + ")" * 500, "²",
    ],
)  # fmt: skip
def test_a_text_outside_the_language_is_refused(text: str) -> None:
    with pytest.raises(ExpressionError):
        parse(text)


def test_an_axis_without_a_size_is_named() -> None:
    with pytest.raises(ExpressionError, match="sequence"):
        parse("batch*sequence").evaluate({"batch": 2})
