"""What running an instance says of it as a task: why it makes none, and what submissions that compute nothing reach.

Definitions.md section 6, *Degenerate*; `passbench.checking` runs them, `tasks.bench_checks` stores them. Levels are
tolerance levels t in [-10, 0] (`profiles.comparison`).
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

CHECK_ALGORITHM: Final = "passnet-bench-check/3"
"""How instances are checked; a check by another algorithm counts as none."""

NUM_DRAWS: Final = 5
"""Draws of operands that an instance is run on."""

DEGENERATE_LEVEL: Final = -3
"""A null submission that passes at this t, or below, passes for a real one: at t = 0 zeros pass every task."""


class Degenerate(StrEnum):
    """Why an instance makes no task, the first that holds in this order."""

    RAISES = "raises"
    OUT_OF_MEMORY = "out_of_memory"
    TIMEOUT = "timeout"
    CRASHED = "crashed"
    NO_OUTPUT = "no_output"  # no tensor with an element
    LAUNCHES_NOTHING = "launches_nothing"  # outputs are memory of operands that nothing writes into
    NOT_FINITE = "not_finite"  # nan, or no finite value at all: infinities are what masks hold
    NON_DETERMINISTIC = "non_deterministic"  # other bits when run again
    CONSTANT = "constant"  # the same bits whatever the operands
    IDENTITY = "identity"
    ZEROS = "zeros"
    ONES = "ones"
    MEAN = "mean"


DID_NOT_END: Final = frozenset({Degenerate.RAISES, Degenerate.OUT_OF_MEMORY, Degenerate.TIMEOUT, Degenerate.CRASHED})
"""Reasons of what did not run to its end; the others were found by a run, and are no failures."""


@dataclass(frozen=True, slots=True)
class InstanceCheck:
    """What a check found; `reason` None: the instance may make a task. `detail` is one line.

    A level is the smallest t at which a null submission passes on any draw, all outputs together; None: at none, or
    not asked, where the program did not run to its end on each draw.
    """

    reason: Degenerate | None
    detail: str | None = None
    zeros_level: int | None = None
    ones_level: int | None = None
    mean_level: int | None = None
    identity_level: int | None = None


def null_reason(zeros: int | None, ones: int | None, mean: int | None, identity: int | None) -> Degenerate | None:
    """Return the null submission, by its level, that makes an instance degenerate; None where all fail."""
    levels = {
        Degenerate.IDENTITY: identity,
        Degenerate.ZEROS: zeros,
        Degenerate.ONES: ones,
        Degenerate.MEAN: mean,
    }
    return next((reason for reason, level in levels.items() if level is not None and level <= DEGENERATE_LEVEL), None)
