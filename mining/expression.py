"""An integer that follows from named axes, as sums, products and floor divisions: `batch*((height//16)*(width//16)+1)`.

Expressions are plain values whose sums and products are flat, so that `parse(e.text) == e`
(`mining.expression_text`). A `Constraint` is an equation between them that holds where they were observed.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from types import UnionType

from extract.shape_configs import Sizes


class ExpressionError(ValueError):
    """A text outside the language of expressions, or an axis that the sizes lack."""


class Expression:
    """What follows from sizes; one of the six kinds below."""

    __slots__ = ()

    def evaluate(self, sizes: Sizes) -> int:
        """Return the value at these sizes; raises `ExpressionError` for an axis that they lack."""
        raise NotImplementedError

    @property
    def text(self) -> str:
        """The text that `parse` reads back."""
        raise NotImplementedError

    @property
    def children(self) -> tuple[Expression, ...]:
        """What it is made of."""
        return ()

    def parts(self) -> Iterator[Expression]:
        """Yield it and all that it is made of, outermost first."""
        yield self
        for child in self.children:
            yield from child.parts()

    @property
    def axes(self) -> frozenset[str]:
        """The names of the axes that it takes."""
        return frozenset(part.name for part in self.parts() if isinstance(part, Axis))


@dataclass(frozen=True, slots=True)
class Number(Expression):
    """An integer."""

    value: int

    def evaluate(self, sizes: Sizes) -> int:
        return self.value

    @property
    def text(self) -> str:
        return str(self.value)


@dataclass(frozen=True, slots=True)
class Axis(Expression):
    """The size of a named axis."""

    name: str

    def evaluate(self, sizes: Sizes) -> int:
        if self.name not in sizes:
            raise ExpressionError(f"axis {self.name!r} has no size here; there are: {', '.join(sizes)}")
        return sizes[self.name]

    @property
    def text(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class Sum(Expression):
    """At least two terms; a number is the last of them and is not 0. Made by `add`."""

    terms: tuple[Expression, ...]

    def evaluate(self, sizes: Sizes) -> int:
        return sum([term.evaluate(sizes) for term in self.terms])

    @property
    def text(self) -> str:
        texts = [term.text for term in self.terms]
        return texts[0] + "".join([text if text.startswith("-") else f"+{text}" for text in texts[1:]])

    @property
    def children(self) -> tuple[Expression, ...]:
        return self.terms


@dataclass(frozen=True, slots=True)
class Product(Expression):
    """At least two factors; a number is the first of them and is neither 0 nor 1. Made by `multiply`."""

    factors: tuple[Expression, ...]

    def evaluate(self, sizes: Sizes) -> int:
        return math.prod([factor.evaluate(sizes) for factor in self.factors])

    @property
    def text(self) -> str:
        return "*".join([_enclosed(factor, Axis | Number | IfOne) for factor in self.factors])

    @property
    def children(self) -> tuple[Expression, ...]:
        return self.factors


@dataclass(frozen=True, slots=True)
class FloorDivision(Expression):
    """The dividend over a divisor of at least 2, rounded down. Made by `floor_divide`."""

    dividend: Expression
    divisor: int

    def evaluate(self, sizes: Sizes) -> int:
        return self.dividend.evaluate(sizes) // self.divisor

    @property
    def text(self) -> str:
        return f"{_enclosed(self.dividend, Axis | IfOne)}//{self.divisor}"

    @property
    def children(self) -> tuple[Expression, ...]:
        return (self.dividend,)


@dataclass(frozen=True, slots=True)
class IfOne(Expression):
    """One expression where an axis is 1 and another elsewhere: a dimension of size one lets torch view what it would
    copy otherwise, so strides differ there."""

    axis: Axis
    one: Expression
    other: Expression

    def evaluate(self, sizes: Sizes) -> int:
        return (self.one if self.axis.evaluate(sizes) == 1 else self.other).evaluate(sizes)

    @property
    def text(self) -> str:
        return f"if_one({self.axis.text}, {self.one.text}, {self.other.text})"

    @property
    def children(self) -> tuple[Expression, ...]:
        return self.axis, self.one, self.other


def _enclosed(part: Expression, bare: type | UnionType) -> str:
    return part.text if isinstance(part, bare) else f"({part.text})"


def add(*terms: Expression) -> Expression:
    """Return the sum of terms: sums among them are opened, numbers added up and put last."""
    flat = [part for term in terms for part in (term.terms if isinstance(term, Sum) else (term,))]
    rest = [part for part in flat if not isinstance(part, Number)]
    constant = sum(part.value for part in flat if isinstance(part, Number))
    if constant or not rest:
        rest.append(Number(constant))
    return rest[0] if len(rest) == 1 else Sum(tuple(rest))


def multiply(*factors: Expression) -> Expression:
    """Return the product of factors: products among them are opened, numbers multiplied and put first."""
    flat = [part for factor in factors for part in (factor.factors if isinstance(factor, Product) else (factor,))]
    rest = [part for part in flat if not isinstance(part, Number)]
    constant = math.prod(part.value for part in flat if isinstance(part, Number))
    if constant == 0:
        return Number(0)
    if constant != 1 or not rest:
        rest.insert(0, Number(constant))
    return rest[0] if len(rest) == 1 else Product(tuple(rest))


def floor_divide(dividend: Expression, divisor: int) -> Expression:
    """Return dividend // divisor; raises ValueError for a divisor below 1."""
    if divisor < 1:
        raise ValueError(f"an expression divides by positive numbers, not by {divisor}")
    if isinstance(dividend, Number):
        return Number(dividend.value // divisor)
    return dividend if divisor == 1 else FloorDivision(dividend, divisor)


@dataclass(frozen=True, slots=True)
class Constraint:
    """`left == right`, or `left % modulus == 0` where there is a modulus (`right` is then 0)."""

    left: Expression
    right: Expression = Number(0)
    modulus: int | None = None

    @property
    def text(self) -> str:
        """The text that `parse_constraint` reads back."""
        if self.modulus is None:
            return f"{self.left.text} == {self.right.text}"
        return f"{_enclosed(self.left, Axis)} % {self.modulus} == 0"

    def check(self, sizes: Sizes) -> bool:
        """Tell whether it holds at these sizes; raises `ExpressionError` for an axis that they lack."""
        left = self.left.evaluate(sizes)
        return left == self.right.evaluate(sizes) if self.modulus is None else left % self.modulus == 0
