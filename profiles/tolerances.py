"""Tolerances by dtype and level t, the paper's appendix F: what `profiles.comparison` applies, and task files tell.

Numbers alone: reading a task never loads torch.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

MIN_LEVEL: Final = -10
MAX_LEVEL: Final = 0
LEVELS: Final = range(MIN_LEVEL, MAX_LEVEL + 1)


@dataclass(frozen=True, slots=True)
class Tolerance:
    """How fast tolerances grow, in decades for each step of t: atol(t) is 10 to the power of `atol_slope` x t."""

    atol_slope: float
    rtol_slope: float


_HALF: Final = Tolerance(1.0, 3 / 5)
_SINGLE: Final = Tolerance(1.0, 5.886 / 5)
_DOUBLE: Final = Tolerance(7 / 5, 7 / 5)

TOLERANCES: Final[Mapping[str, Tolerance]] = MappingProxyType(
    {
        "bfloat16": Tolerance(1.0, 1.796 / 5),
        "float16": _HALF,
        "complex32": _HALF,
        "float32": _SINGLE,
        "complex64": _SINGLE,
        "float64": _DOUBLE,
        "complex128": _DOUBLE,
    }
)
"""The formulas of the paper's tables 5 and 6, by torch's names. Their other columns follow to the digits printed: at
t = -5 they are the defaults of `torch.testing` (atol 1e-5, but 1e-7 for float64), at t = 0 they are 1. Other dtypes: 0
at every t."""


def tolerance_of(dtype: str, level: int) -> tuple[float, float]:
    """Return atol(t) and rtol(t) of a dtype by its name; (0, 0) for one that `TOLERANCES` lacks."""
    slopes = TOLERANCES.get(dtype)
    return (10.0 ** (slopes.atol_slope * level), 10.0 ** (slopes.rtol_slope * level)) if slopes else (0.0, 0.0)
