"""What a run of generalization is bound by: checked before anything is written or started."""

from __future__ import annotations

from typing import Final

from storage.errors import UsageError

MAX_BYTES: Final = 1 << 30
"""Bytes that an instance may move at least: a GiB takes an A30 (933 GB/s) about a millisecond."""
MODEL_SECONDS: Final = 300.0
"""After so long no more variants of a model are traced: an average model takes 5 s, the largest of timm a minute."""


def check_bounds(max_bytes: int, model_seconds: float) -> None:
    """Raise UsageError for bounds under which nothing could be made."""
    if max_bytes < 1:
        raise UsageError(f"--max-bytes {max_bytes} leaves no instance", "give at least 1")
    if model_seconds <= 0:
        raise UsageError(f"--model-seconds {model_seconds} leaves no variant", "give more than 0")
