"""What expressions were seen to hold on: the constraints under which they are kept, and whether enough was seen.

A division that was exact on every row, an axis that never varied, a divisor or an offset that the rows leave open: none
of these shows what the program does elsewhere. Each becomes a constraint, and nothing is promised where one fails.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence

from extract.shape_configs import Sizes
from mining.expression import (
    Axis,
    Constraint,
    Expression,
    FloorDivision,
    IfOne,
    Number,
    Sum,
    add,
    multiply,
)
from mining.forms import BATCH, USUAL_DIVISORS, num_chosen, term


def has_evidence(expression: Expression, rows: Sequence[Sizes]) -> bool:
    """Tell whether an expression was seen at twice as many distinct sizes as numbers were chosen to make it fit.

    A constant has no axes, and every row for evidence.
    """
    axes = sorted(expression.axes)
    return not axes or len({tuple([row[axis] for axis in axes]) for row in rows}) >= 2 * num_chosen(expression)


def find_constraints(expressions: Iterable[Expression], rows: Sequence[Sizes]) -> tuple[Constraint, ...]:
    """Return what held on all rows and must hold for expressions that were found on them, in the order of their texts.

    `axis == 224`: an axis that did not vary; `2*width == 3*height`: two that varied as one; `axis % 32 == 0`: a
    division that left no remainder on any row; an equation of two divisions: the rows do not tell them apart.
    """
    found = dict.fromkeys(_fixed_axes(rows))
    for expression in set(expressions):
        found.update(dict.fromkeys(division_constraints(expression, rows)))
    return tuple(sorted(_strongest(found), key=lambda constraint: constraint.text))


def division_constraints(expression: Expression, rows: Sequence[Sizes]) -> Iterator[Constraint]:
    """Yield what held for the divisions of an expression on the rows where each was used."""
    if isinstance(expression, IfOne):
        ones = [row for row in rows if expression.axis.evaluate(row) == 1]
        yield from division_constraints(expression.one, ones)
        yield from division_constraints(expression.other, [row for row in rows if row not in ones])
        return
    if isinstance(expression, FloorDivision):
        yield from _division_constraints(expression, rows)
    for child in expression.children:
        yield from division_constraints(child, rows)


def multiples(rows: Sequence[Sizes]) -> tuple[Constraint, ...]:
    """Return that each axis but the batch is a multiple of what all its sizes are: for programs that do otherwise at
    sizes in between (they pad, shift, or are refused there)."""
    common = {axis: math.gcd(*[row[axis] for row in rows]) for axis in rows[0] if axis != BATCH}
    return tuple([Constraint(Axis(axis), modulus=size) for axis, size in common.items() if size > 1])


def _fixed_axes(rows: Sequence[Sizes]) -> Iterator[Constraint]:
    columns = {axis: tuple([row[axis] for row in rows]) for axis in rows[0]}
    varying: list[str] = []
    for axis, column in columns.items():
        if len(set(column)) == 1:
            yield Constraint(Axis(axis), Number(column[0]))
            continue
        for other in varying:
            first, base = column[0], columns[other][0]
            if all(size * base == pair * first for size, pair in zip(column, columns[other], strict=True)):
                yield _proportion(axis, first, other, base)
                break
        else:
            varying.append(axis)


def _proportion(axis: str, size: int, other: str, other_size: int) -> Constraint:
    if size == other_size:
        return Constraint(Axis(axis), Axis(other))
    return Constraint(multiply(Number(other_size), Axis(axis)), multiply(Number(size), Axis(other)))


def _division_constraints(division: FloorDivision, rows: Sequence[Sizes]) -> Iterator[Constraint]:
    dividends = [division.dividend.evaluate(row) for row in rows]
    if all(dividend % division.divisor == 0 for dividend in dividends):
        yield Constraint(division.dividend, modulus=division.divisor)
        return
    split = _axis_and_offset(division.dividend)
    if split is not None:
        axis, _ = split
        column = [row[axis] for row in rows]
        counts = [dividend // division.divisor for dividend in dividends]
        yield from _open_offset(axis, division.divisor, column, counts)
        yield from _open_divisor(axis, division, column, counts)


def _axis_and_offset(dividend: Expression) -> tuple[str, int] | None:
    match dividend:
        case Axis(name):
            return name, 0
        case Sum((Axis(name), Number(offset))):
            return name, offset
        case _:
            return None


def _open_offset(axis: str, divisor: int, column: Sequence[int], counts: Sequence[int]) -> Iterator[Constraint]:
    """Yield that the least and the most offset that fit agree: rounding down and up are offsets as any other."""
    reach = [divisor * count - size for size, count in zip(column, counts, strict=True)]
    least, most = max(reach), min(reach) + divisor - 1
    if least < most:
        yield Constraint(term(axis, least, divisor), term(axis, most, divisor))


def _open_divisor(
    axis: str, division: FloorDivision, column: Sequence[int], counts: Sequence[int]
) -> Iterator[Constraint]:
    """Yield that a division by another usual number, rounding down or up, agrees where it does on all rows."""
    for divisor in USUAL_DIVISORS:
        for offset in dict.fromkeys((0, divisor - 1)):
            if divisor in (1, division.divisor):
                continue
            shift = counts[0] - (column[0] + offset) // divisor
            if all((size + offset) // divisor + shift == count for size, count in zip(column, counts, strict=True)):
                yield Constraint(division, add(term(axis, offset, divisor), Number(shift)))


def _strongest(constraints: Iterable[Constraint]) -> list[Constraint]:
    """Leave out remainders that others imply."""
    kept: list[Constraint] = []
    given = list(constraints)
    for constraint in given:
        modulus = constraint.modulus
        implied = modulus is not None and any(
            other.left == constraint.left
            and other.modulus is not None
            and other.modulus > modulus
            and other.modulus % modulus == 0
            for other in given
        )
        if not implied:
            kept.append(constraint)
    return kept
