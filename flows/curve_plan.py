"""What a run of kernel curves is about: which targets there are; loads nothing heavy."""

from __future__ import annotations

from flows.bounds import MAX_SECONDS
from profiles.kernels.targets import TARGETS
from storage.errors import UsageError

DEFAULT_TARGETS = "cpu,cuda:a30"


def check_targets(targets: str) -> tuple[str, ...]:
    """Return the targets named in a comma-separated list; raises UsageError for others."""
    names = tuple(dict.fromkeys(name.strip() for name in targets.split(",") if name.strip()))
    for name in names:
        if name not in TARGETS:
            raise UsageError(f"unknown target {name!r}", f"choose among {', '.join(TARGETS)}")
    if not names:
        raise UsageError(f"--target {targets!r} names nothing", f"choose among {', '.join(TARGETS)}")
    return names


def check_bound(max_seconds: float | None) -> None:
    """Raise UsageError for a bound on a run that is no wall time; None is no bound."""
    if max_seconds is not None and not 0 <= max_seconds <= MAX_SECONDS:
        raise UsageError(f"--max-seconds {max_seconds} is no time to stop at", f"give 0 to {MAX_SECONDS:,.0f}")
