"""What a check on real tensors may cost; standard library only, so that flows state it without loading torch."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class RealBudget:
    """What one run of a graph may be estimated to cost.

    `max_bytes` (at the fullest moment) leaves a child of `extract.sandbox.Limits` (3 GiB) the 0.5 GiB that torch and
    timm take and as much for what an estimate misses. `max_flop`: a graph is run five times, so 2e11 are 1e12
    FLOP; graphs of 1 GFLOP and more ran at 9 to 27 GFLOP/s on one core (37 timm models), a request may take 120 s.
    """

    max_bytes: int = 2 << 30
    max_flop: float = 2e11
