"""What a run of generalization is bound by: checked before anything is written or started."""

from __future__ import annotations

from typing import Final

from flows.bounds import MAX_SECONDS
from storage.errors import UsageError

MAX_BYTES: Final = 1 << 30
"""Bytes that an instance may move at least: a GiB takes an A30 (933 GB/s) about a millisecond."""
_MOST: Final = (1 << 63) - 1
MODEL_SECONDS: Final = 600.0
"""A model whose variants take longer fails: an average model takes 5 s, the largest of timm a minute."""


def check_bounds(max_bytes: int, max_params: int | None, model_seconds: float) -> None:
    """Raise UsageError for bounds under which nothing could be made, or that are no numbers to store."""
    for option, bound in (("--max-bytes", max_bytes), ("--max-params", max_params or 1)):
        if bound > _MOST:
            raise UsageError(f"{option} {bound} is too large", f"give at most {_MOST}")
    if max_bytes < 1:
        raise UsageError(f"--max-bytes {max_bytes} leaves no instance", "give at least 1")
    if not 0 < model_seconds <= MAX_SECONDS:
        what = f"--model-seconds {model_seconds} is no time to trace in"
        raise UsageError(what, f"give more than 0, {MAX_SECONDS:,.0f} at most")
