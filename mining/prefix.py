"""A kernel curve to fusible ranges: runs of ops that the compiler planned no further kernel for.

Paper 3.2(2), figure 2(b); definitions.md section 4. K may fall again, where a later op lets earlier ones fuse, so a run
is a run of K'(P), the least K at P or later. Pure; takes counts from whatever counted them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

MIN_OPS, MAX_OPS = 2, 35
"""Ops of a fusible subgraph (paper 3.2(2))."""


@dataclass(frozen=True, slots=True)
class Plateau:
    """Ops [start, end): the op that brought the count to `num_kernels`, and those that came without a kernel more."""

    start: int
    end: int
    num_kernels: int

    @property
    def is_too_long(self) -> bool:
        """Whether it is dropped for its length; it is never split."""
        return self.end - self.start > MAX_OPS


def find_plateaus(kernels: Sequence[int | None]) -> list[Plateau]:
    """Return the plateaus of a curve, which holds K(1), K(2), ...; None where a prefix has no count.

    They are disjoint, by start, and of two ops at least.
    """
    lowered = lower_envelope(kernels)
    plateaus: list[Plateau] = []
    position = 1
    for num_kernels, run in groupby(lowered):
        length = len(list(run))
        if num_kernels is not None and num_kernels >= 1 and length >= MIN_OPS:
            plateaus.append(Plateau(position - 1, position - 1 + length, num_kernels))
        position += length
    return plateaus


def lower_envelope(kernels: Sequence[int | None]) -> list[int | None]:
    """Return K'(P), the least count at P or later; None where no later prefix has one."""
    least: int | None = None
    lowered: list[int | None] = []
    for count in reversed(kernels):
        if count is not None:
            least = count if least is None else min(least, count)
        lowered.append(least)
    return lowered[::-1]
