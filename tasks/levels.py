"""Levels of validation: which checks each makes, and at which levels their verdicts stand; loads nothing heavy."""

from __future__ import annotations

from storage.errors import UsageError

FIDELITY = "fidelity"
_STATIC = ("serializable", "statically_analyzable", "custom_op_accessible", "specialised")
CHECKS = {
    "static": _STATIC,
    "fake": ("runnable", "decomposable", *_STATIC),
    "real": ("runnable", "decomposable"),
}
LEVELS_REACHED = {"static": ["static"], "fake": ["static", "fake"], "real": ["real"]}
"""What text alone tells stays `static` whatever level is asked for."""


def check_level(level: str) -> str:
    """Return a level that there is; raises UsageError for another."""
    if level not in CHECKS:
        raise UsageError(f"unknown level {level!r}", f"choose one of {', '.join(CHECKS)}")
    return level
