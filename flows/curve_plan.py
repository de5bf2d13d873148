"""What a run of kernel curves is about: which targets there are; loads nothing heavy."""

from __future__ import annotations

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
