"""Points of one axis to the simplest `k*((axis+P)//S)+c` through all of them, or nothing."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Final

from mining.expression import Expression
from mining.forms import MIN_VALUES, USUAL_DIVISORS, Values, cost, scaled, simplest_between, term

_MAX_DIVISORS: Final = 400  # tried one by one where the points say little about their divisor


def solve_exact(axis: str, points: Mapping[int, int]) -> Expression | None:
    """Return the expression of a straight line through all points; None where they lie on none.

    A fractional slope m/n is `m*((axis+P)//n)+c` with divisions that are exact at every point.
    """
    sizes = sorted(points)
    first, last = sizes[0], sizes[-1]
    run, rise = last - first, points[last] - points[first]
    if any((points[size] - points[first]) * run != (size - first) * rise for size in sizes):
        return None
    common = math.gcd(run, rise)
    times, divisor = rise // common, run // common
    offset = -first % divisor
    if any((size + offset) % divisor for size in sizes):
        return None
    return scaled(term(axis, offset, divisor), times, points[first] - times * ((first + offset) // divisor))


def solve_floor(axis: str, points: Mapping[int, int]) -> Expression | None:
    """Return the simplest `k*((axis+P)//S)+c` through points that do not fall or do not rise; None without one."""
    sizes = sorted(points)
    step = math.gcd(*[points[size] - points[sizes[0]] for size in sizes])
    sign = 1 if points[sizes[-1]] > points[sizes[0]] else -1
    for times in dict.fromkeys((sign * step, sign)):
        counts = [(points[size] - points[sizes[0]]) // times for size in sizes]
        found = _solve_counts(axis, sizes, counts, times, points[sizes[0]])
        if found is not None:
            return found
    return None


def _solve_counts(axis: str, sizes: Values, counts: Values, times: int, base: int) -> Expression | None:
    run, rise = sizes[-1] - sizes[0], counts[-1] - counts[0]
    if len(set(counts)) < MIN_VALUES or any(later < earlier for earlier, later in pairwise(counts)):
        return None
    low, high = max(2, run // (rise + 1)), run // (rise - 1) + 1
    found: list[Expression] = []
    for divisor in _divisors_between(low, high):
        reach = [divisor * count - size for count, size in zip(counts, sizes, strict=True)]
        least, most = max(reach), min(reach) + divisor - 1
        if least <= most:
            whole = least // divisor
            offset = simplest_between(least - whole * divisor, most - whole * divisor, divisor)
            found.append(
                scaled(term(axis, offset % divisor, divisor), times, _shift(offset, whole, divisor, times, base))
            )
    return min(found, key=cost, default=None)


def _shift(offset: int, whole: int, divisor: int, times: int, base: int) -> int:
    """Return c: counts begin at 0 for the first point, whose value is `base`."""
    return base + times * (whole + offset // divisor)


def _divisors_between(low: int, high: int) -> Sequence[int]:
    if high - low < _MAX_DIVISORS:
        return range(low, high + 1)
    return [divisor for divisor in USUAL_DIVISORS if low <= divisor <= high]
