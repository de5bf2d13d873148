"""What a check on real tensors may cost; standard library only, so that flows state it without loading torch."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class RealBudget:
    """What one run of a graph may be estimated to cost.

    `max_bytes` (at the fullest moment) leaves a child of `extract.sandbox.Limits` (3 GiB) the 0.5 GiB that torch and
    timm take and as much for what an estimate misses. `max_flop`: a graph is run five times, so 2e11 are 1e12 FLOP: at
    10 GFLOP/s, which all but the smallest graphs exceeded on one core, that fits the 120 s that a request may take.
    """

    max_bytes: int = 2 << 30
    max_flop: float = 2e11
