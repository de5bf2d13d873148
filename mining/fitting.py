"""Columns of integers over rows of sizes to expressions: searched among the forms of real programs, or nothing.

The forms are: `k*X+c`, where X is a term of `mining.forms`; a product of two of these, or of one and an axis; such a
product and an axis added; what pads a term to windows. Exact on every row; deterministic; a table of sizes costs 10 ms
once, a column 0.1 ms where it has a form and a few ms where it has none.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from extract.shape_configs import Sizes
from mining.axis_fitting import solve_exact, solve_floor
from mining.evidence import division_constraints, has_evidence
from mining.expression import Axis, Expression, IfOne, Number, add, floor_divide, multiply
from mining.forms import MIN_VALUES, Forms, Values, cost

_MAX_ROUNDS: Final = 3
_MAX_WINDOW: Final = 32


@dataclass(frozen=True, slots=True)
class Fit:
    """An expression that is exact on all rows; `is_predicted`: found without the held-out ones."""

    expression: Expression
    is_predicted: bool


class Fitter:
    """Fits columns of integers over one table of sizes; each distinct column once."""

    def __init__(self, samples: Sequence[Sizes], held_out: Sequence[Sizes] = ()) -> None:
        self.num_samples = len(samples)
        self.rows = [*samples, *held_out]
        self._samples = SizesTable(samples)
        self._all = SizesTable(self.rows) if held_out else self._samples
        self._fits: dict[tuple[int | None, ...], Fit | None] = {}
        self._partial: dict[tuple[int, ...], Fitter] = {}

    def fit(self, values: Sequence[int | None]) -> Fit | None:
        """Return the simplest form that is exact on all rows, samples first; None when there is none.

        None among the values: whatever comes out there is right.
        """
        key = tuple(values)
        if key not in self._fits:
            self._fits[key] = self._fit_known(key)
        return self._fits[key]

    def fit_if_one(self, values: Sequence[int | None]) -> Fit | None:
        """Return a form for the rows where an axis is 1 and one for the others, for the first axis that has both."""
        for axis in self.rows[0]:
            places = [place for place, row in enumerate(self.rows) if row[axis] == 1]
            if not 0 < len(places) < len(self.rows):
                continue
            one, other = (
                self.fit([value if (place in places) == is_one else None for place, value in enumerate(values)])
                for is_one in (True, False)
            )
            if one is None or other is None:
                continue
            found = IfOne(Axis(axis), one.expression, other.expression)
            held = division_constraints(found, self.rows)
            if all(constraint.check(row) for constraint in held for row in self.rows):
                return Fit(found, one.is_predicted and other.is_predicted)
        return None

    def _fit_known(self, values: tuple[int | None, ...]) -> Fit | None:
        known = [value for value in values if value is not None]
        if len(known) == len(values):
            return self._fit(tuple(known))
        places = tuple([place for place, value in enumerate(values) if value is not None])
        if places not in self._partial:
            rows = [self.rows[place] for place in places]
            num_samples = sum(1 for place in places if place < self.num_samples)
            self._partial[places] = Fitter(rows[:num_samples], rows[num_samples:])
        return self._partial[places].fit(known) if known else Fit(Number(1), True)

    def _fit(self, values: tuple[int, ...]) -> Fit | None:
        for table, is_predicted in ((self._samples, True), (self._all, False)):
            found = table.search(values[: len(table.rows)]) if table.rows else None
            if found is not None and self._is_exact(found, values) and has_evidence(found, self.rows):
                return Fit(found, is_predicted)
        return None

    def _is_exact(self, expression: Expression, values: tuple[int, ...]) -> bool:
        return all(expression.evaluate(row) == value for row, value in zip(self.rows, values, strict=True))


class SizesTable:
    """Some rows of sizes and the simple forms over them; `search` answers for one column of integers each.

    Axes that do not vary, or vary as another before them does, are in no expression.
    """

    def __init__(self, rows: Sequence[Sizes]) -> None:
        self.rows = list(rows)
        self._columns: dict[str, tuple[int, ...]] = {}
        for axis in rows[0] if rows else ():
            column = tuple([row[axis] for row in rows])
            if len(set(column)) > 1 and column not in self._columns.values():
                self._columns[axis] = column
        self._found: dict[tuple[int, ...], Expression | None] = {}

    def search(self, values: Values) -> Expression | None:
        """Return the simplest form that is exact on every row; None when there is none."""
        key = tuple(values)
        if key not in self._found:
            self._found[key] = self._search(key, _MAX_ROUNDS)
        return self._found[key]

    def _search(self, values: tuple[int, ...], rounds: int) -> Expression | None:
        if len(set(values)) == 1:
            return Number(values[0])
        found = self._forms.find(values) or self._solve_axis(values)
        if found is not None or rounds == 0:
            return found
        return (
            self._divide_by_axis(values, rounds - 1)
            or self._square_root(values, rounds - 1)
            or self._divide_by_form(values)
            or self._subtract_axis(values, rounds - 1)
            or self._pad_to_windows(values)
        )

    @cached_property
    def _forms(self) -> Forms:
        return Forms(self._columns)

    def _solve_axis(self, values: tuple[int, ...]) -> Expression | None:
        """Solve `k*((axis+P)//S)+c` for the one axis that decides the values."""
        solved: list[Expression] = []
        for name, column in self._columns.items():
            points = dict(zip(column, values, strict=True))
            if all(points[size] == value for size, value in zip(column, values, strict=True)):
                found = solve_exact(name, points) or solve_floor(name, points)
                solved.extend([] if found is None else [found])
        return min(solved, key=cost, default=None)

    def _divide_by_axis(self, values: tuple[int, ...], rounds: int) -> Expression | None:
        for name, column in self._columns.items():
            quotient = _quotient(values, column)
            rest = None if quotient is None else self._search(quotient, rounds)
            if rest is not None:
                return multiply(Axis(name), rest)
        return None

    def _square_root(self, values: tuple[int, ...], rounds: int) -> Expression | None:
        if min(values) < 1:
            return None
        scale = math.gcd(*values)
        for factor in dict.fromkeys((1, scale)):
            roots = tuple([math.isqrt(value // factor) for value in values])
            if all(factor * root * root == value for root, value in zip(roots, values, strict=True)):
                rest = self._search(roots, rounds)
                return None if rest is None else multiply(Number(factor), rest, rest)
        return None

    def _divide_by_form(self, values: tuple[int, ...]) -> Expression | None:
        for form, column in self._forms.divisors:
            quotient = _quotient(values, column)
            rest = None if quotient is None else self._forms.find(quotient)
            if rest is not None:
                return multiply(form, rest)
        return None

    def _subtract_axis(self, values: tuple[int, ...], rounds: int) -> Expression | None:
        for name, column in self._columns.items():
            for times in (1, 2, -1):
                rest = tuple([value - times * size for value, size in zip(values, column, strict=True)])
                found = self._forms.find(rest) or self._divide_by_axis(rest, min(rounds, 1))
                if found is not None:
                    return add(found, multiply(Number(times), Axis(name)))
        return None

    def _pad_to_windows(self, values: tuple[int, ...]) -> Expression | None:
        """Find what pads a term of an axis to a multiple of a window: the multiple less the term."""
        if len(set(values)) < MIN_VALUES or min(values) < 0:
            return None
        for form, column in self._forms.of_one_axis:
            for window in range(max(values) + 1, _MAX_WINDOW + 1):
                if all(-size % window == value for value, size in zip(values, column, strict=True)):
                    windows = floor_divide(add(form, Number(window - 1)), window)
                    return add(multiply(Number(window), windows), multiply(Number(-1), form))
        return None


def _quotient(values: tuple[int, ...], divisors: tuple[int, ...]) -> tuple[int, ...] | None:
    for value, divisor in zip(values, divisors, strict=True):
        if divisor == 0 or value % divisor:
            return None
    return tuple([value // divisor for value, divisor in zip(values, divisors, strict=True)])
