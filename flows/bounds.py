"""Bounds of options that several commands have."""

from typing import Final

MAX_SECONDS: Final = 1e7  # four months; infinity is no wall time
MAX_WORKERS: Final = 1024
