"""The terms that sizes of real programs are made of, each with its values on some rows of sizes.

Convolutions, pools, patches and padding to windows, nested however deep, make `(axis+P)//S` of an axis. A library
holds one such term per axis and distinct column of values, and the products of two over height and width; it finds
`k*X+c` of any of them by the shape of a column alone.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from mining.expression import Axis, Expression, FloorDivision, Number, Sum, add, floor_divide, multiply

Values = Sequence[int]
Term = tuple[Expression, tuple[int, ...]]

BATCH: Final = "batch"
IMAGE_AXES: Final = ("height", "width")
MIN_VALUES: Final = 3
"""A column of two values is any threshold, and no evidence of a division."""
USUAL_DIVISORS: Final = tuple([odd << power for odd in (1, 3, 5, 7, 9, 15) for power in range(12)])
"""Patches, strides and windows are small odd numbers times powers of two: simplest first."""
_MAX_ALIKE: Final = 16


class Forms:
    """One term per distinct column of values, those that differ by scale and offset alone in one class."""

    def __init__(self, columns: Mapping[str, tuple[int, ...]]) -> None:
        self._classes: dict[tuple[int, ...], list[Term]] = {}
        self.divisors: list[Term] = []
        self.of_one_axis: list[Term] = []
        seen: set[tuple[int, ...]] = set()
        for plain, (form, column) in _terms(columns):
            if column in seen or not (isinstance(form, Axis) or len(set(column)) >= MIN_VALUES):
                continue
            seen.add(column)
            if plain:
                self.divisors.append((form, column))
                self.of_one_axis.extend([(form, column)] if len(form.axes) == 1 else [])
            step = _step(column)
            alike = self._classes.setdefault(_shape(column, step), [])
            if len(alike) < _MAX_ALIKE:
                alike.append((form, column))

    def find(self, values: tuple[int, ...]) -> Expression | None:
        """Return the simplest `k*X+c` that gives these values."""
        step = _step(values)
        if step == 0:
            return Number(values[0])
        found: list[Expression] = []
        for form, column in self._classes.get(_shape(values, step), ()):
            times, rest = divmod(step, _step(column))
            if rest == 0:
                found.append(scaled(form, times, values[0] - times * column[0]))
        return min(found, key=cost, default=None)


def _terms(columns: Mapping[str, tuple[int, ...]]) -> Iterator[tuple[bool, Term]]:
    """Yield `(axis+P)//S` of each axis, products of two such of height and width, and their area divided, simple ones
    first; with each whether it rounds down or up."""
    has_image = all(axis in columns for axis in IMAGE_AXES)
    for plain in (True, False):
        for name, column in columns.items():
            for divisor, offset in _usual_divisions(column, plain):
                yield plain, (term(name, offset, divisor), tuple([(size + offset) // divisor for size in column]))
        if has_image:
            for divisor, offset in _usual_divisions([size for axis in IMAGE_AXES for size in columns[axis]], plain):
                for shift in (0,) if plain else (0, -1, 1):
                    yield plain, _image_term(columns, offset + shift * divisor, divisor)
    if has_image:
        yield from [(True, found) for found in _area_terms(columns)]


def _image_term(columns: Mapping[str, tuple[int, ...]], offset: int, divisor: int) -> Term:
    heights, widths = [[(size + offset) // divisor for size in columns[axis]] for axis in IMAGE_AXES]
    product = multiply(*[term(axis, offset, divisor) for axis in IMAGE_AXES])
    return product, tuple([height * width for height, width in zip(heights, widths, strict=True)])


def _area_terms(columns: Mapping[str, tuple[int, ...]]) -> Iterator[Term]:
    """Yield `(height*width)//S` where that leaves remainders; elsewhere each axis is divided by itself."""
    area, column = _image_term(columns, 0, 1)
    for divisor in USUAL_DIVISORS:
        if divisor <= max(column) // MIN_VALUES and any(size % divisor for size in column):
            yield floor_divide(area, divisor), tuple([size // divisor for size in column])


def _usual_divisions(column: Sequence[int], plain: bool) -> Iterator[tuple[int, int]]:
    """Yield (S, P): those that round down and up, or one for each offset at which a value of the column changes."""
    largest = max(column)
    for divisor in USUAL_DIVISORS:
        if divisor > largest:
            continue
        if plain:
            yield from [(divisor, offset) for offset in dict.fromkeys((0, divisor - 1))]
        elif divisor > 1:
            changes = sorted({-size % divisor for size in column})
            for low, high in zip(changes, [*changes[1:], divisor], strict=True):
                yield divisor, simplest_between(low, high - 1, divisor)


def term(axis: str, offset: int, divisor: int) -> Expression:
    """Return `(axis+offset)//divisor`."""
    return floor_divide(add(Axis(axis), Number(offset)), divisor)


def scaled(form: Expression, times: int, offset: int) -> Expression:
    """Return `times*form+offset`; an offset goes into a term that has one already."""
    if offset and offset % times == 0 and isinstance(form, FloorDivision) and isinstance(form.dividend, Sum):
        dividend = add(form.dividend, Number(offset // times * form.divisor))
        return multiply(Number(times), floor_divide(dividend, form.divisor))
    return add(multiply(Number(times), form), Number(offset))


def simplest_between(low: int, high: int, divisor: int) -> int:
    """Return the plainest offset in [low, high]: none, rounding up, one, else the most even, the smallest of these."""
    for offset in (0, divisor - 1, 1):
        if low <= offset <= high:
            return offset
    power = 1 << max(high.bit_length(), 1)
    while (low + power - 1) // power * power > high:
        power >>= 1
    return (low + power - 1) // power * power


def cost(expression: Expression) -> float:
    """Return how long a story an expression is: each axis and each number count, large odd numbers most."""
    total = 0.0
    for part in expression.parts():
        if isinstance(part, Number):
            total += 1 + _number_cost(part.value)
        elif isinstance(part, Axis):
            total += 1
        elif isinstance(part, FloorDivision):
            total += 1 + _number_cost(part.divisor)
            if _rounds_up(part):
                total -= _number_cost(part.divisor - 1)  # rounding up says nothing new
    return total


def num_chosen(expression: Expression) -> int:
    """Return how many distinct numbers were chosen to make an expression fit; rounding up is no choice of one."""
    divisions = [part for part in expression.parts() if isinstance(part, FloorDivision)]
    implied = [part.divisor - 1 for part in divisions if _rounds_up(part)]
    numbers = {part.value for part in expression.parts() if isinstance(part, Number)}
    return len((numbers - {-1}).difference(implied) | {part.divisor for part in divisions})


def _rounds_up(division: FloorDivision) -> bool:
    dividend = division.dividend
    return isinstance(dividend, Sum) and dividend.terms[-1] == Number(division.divisor - 1)


def _number_cost(value: int) -> float:
    value = abs(value)
    if value == 0:
        return 0.0
    power = (value & -value).bit_length() - 1
    return 0.25 * (value >> power).bit_length() + 0.05 * power + (0.3 if value >> power > 1 else 0.0)


def _step(column: Values) -> int:
    """Return the greatest common divisor of all differences, with the sign of the first that is not 0."""
    first = column[0]
    differences = [value - first for value in column]
    step = math.gcd(*differences)
    return -step if next((difference < 0 for difference in differences if difference), False) else step


def _shape(column: Values, step: int) -> tuple[int, ...]:
    """Return a column but for scale and offset."""
    first = column[0]
    return tuple([(value - first) // step for value in column])
