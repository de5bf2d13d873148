"""The text of an expression or a constraint back to its value: recursive descent, nothing evaluated as Python."""

from __future__ import annotations

import re
from collections.abc import Iterator

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

_TOKEN = re.compile(r"\s*(\d+|[A-Za-z_]\w*|//|==|[-+*%(),])", re.ASCII)
_MAX_TEXT = 2_000
_MAX_DEPTH = 40


def parse(text: str) -> Expression:
    """Return the expression that a text spells; raises `ExpressionError`.

    The language: integers, names, `+ - *`, `//` by a positive integer, parentheses, `if_one(axis, one, other)`.
    """
    reader = _Reader(text)
    expression = reader.sum()
    reader.expect_end()
    return expression


def parse_constraint(text: str) -> Constraint:
    """Return the constraint that a text spells; raises `ExpressionError`."""
    reader = _Reader(text)
    left, modulus = reader.sum(), None
    if reader.take("%"):
        modulus = reader.number()
    reader.expect("==")
    right = reader.sum()
    reader.expect_end()
    if modulus is not None and (modulus < 1 or right != Number(0)):
        raise ExpressionError(f"{text!r}: a remainder by a positive number is compared with 0")
    return Constraint(left, right, modulus)


class _Reader:
    """Recursive descent over the tokens of one text."""

    def __init__(self, text: str) -> None:
        if len(text) > _MAX_TEXT:
            raise ExpressionError(f"a text of {len(text)} characters; expressions have at most {_MAX_TEXT}")
        self._text = text
        self._tokens = list(_tokens(text))
        self._next = 0
        self._depth = 0

    def take(self, token: str) -> bool:
        found = self._next < len(self._tokens) and self._tokens[self._next] == token
        self._next += found
        return found

    def expect(self, token: str) -> None:
        if not self.take(token):
            raise self._error(f"{token!r} expected")

    def expect_end(self) -> None:
        if self._next < len(self._tokens):
            raise self._error("nothing more expected")

    def sum(self) -> Expression:
        terms = [self._term()]
        while True:
            if self.take("+"):
                terms.append(self._term())
            elif self.take("-"):
                terms.append(multiply(Number(-1), self._term()))
            else:
                return add(*terms)

    def number(self) -> int:
        token = self._tokens[self._next] if self._next < len(self._tokens) else ""
        if not token.isdecimal():
            raise self._error("a number expected")
        self._next += 1
        return int(token)

    def _term(self) -> Expression:
        value = self._atom()
        while True:
            if self.take("*"):
                value = multiply(value, self._atom())
            elif self.take("//"):
                divisor = self.number()
                if divisor < 1:
                    raise self._error("division by 0")
                value = floor_divide(value, divisor)
            else:
                return value

    def _atom(self) -> Expression:
        if self._depth > _MAX_DEPTH:
            raise self._error("too deep")
        self._depth += 1
        try:
            if self.take("-"):
                return multiply(Number(-1), self._atom())
            if self.take("("):
                inner = self.sum()
                self.expect(")")
                return inner
            token = self._tokens[self._next] if self._next < len(self._tokens) else ""
            if token.isidentifier():
                self._next += 1
                return self._if_one() if token == "if_one" else Axis(token)
            return Number(self.number())
        finally:
            self._depth -= 1

    def _if_one(self) -> Expression:
        self.expect("(")
        axis = self.sum()
        if not isinstance(axis, Axis):
            raise self._error("an axis expected")
        self.expect(",")
        one = self.sum()
        self.expect(",")
        other = self.sum()
        self.expect(")")
        return IfOne(axis, one, other)

    def _error(self, message: str) -> ExpressionError:
        return ExpressionError(f"{self._text!r}, token {self._next + 1}: {message}")


def _tokens(text: str) -> Iterator[str]:
    position = 0
    while position < len(text.rstrip()):
        match = _TOKEN.match(text, position)
        if match is None:
            raise ExpressionError(f"{text!r}: nothing of the language at character {position + 1}")
        yield match[1]
        position = match.end()
