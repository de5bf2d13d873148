"""Repeated measurements of one thing to the few numbers kept of them: median, quartiles, spread.

Quantiles interpolate linearly between neighbours, as `numpy.quantile` does by default, to the same bits. Samples are
finite numbers in any order; none at all, or nan and infinity among them, is a `ValueError`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence


def median(samples: Iterable[float]) -> float:
    """Return the middle of the ordered samples; of an even number, what is halfway between the middle two."""
    return _quantile(_ordered(samples), 0.5)


def quartiles(samples: Iterable[float]) -> tuple[float, float, float]:
    """Return the values that a quarter, a half and three quarters of the samples do not exceed."""
    ordered = _ordered(samples)
    return _quantile(ordered, 0.25), _quantile(ordered, 0.5), _quantile(ordered, 0.75)


def iqr_frac(samples: Iterable[float]) -> float | None:
    """Return the interquartile range over the median of samples that are not negative (times, sizes).

    None where the median is zero: what measured nothing most of the time has no spread that could be called small.
    Raises `ValueError` on a negative sample: durations by a clock that ran backwards.
    """
    ordered = _ordered(samples)
    if ordered[0] < 0:
        raise ValueError(f"samples must not be negative, the least is {ordered[0]}")
    middle = _quantile(ordered, 0.5)
    return (_quantile(ordered, 0.75) - _quantile(ordered, 0.25)) / middle if middle else None


def _ordered(samples: Iterable[float]) -> list[float]:
    ordered = sorted([float(sample) for sample in samples])
    if not ordered:
        raise ValueError("no samples: at least one is needed")
    if not all(map(math.isfinite, ordered)):
        raise ValueError(f"samples must be finite, {sum(not math.isfinite(sample) for sample in ordered)} are not")
    return ordered


def _quantile(ordered: Sequence[float], frac: float) -> float:
    """Return the value at `frac` of the way from the first to the last, measured from the nearer neighbour."""
    whole, part = divmod((len(ordered) - 1) * frac, 1)
    low = ordered[int(whole)]
    high = ordered[min(int(whole) + 1, len(ordered) - 1)]
    return high - (high - low) * (1 - part) if part >= 0.5 else low + (high - low) * part
