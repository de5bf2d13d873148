"""The largest resident memory of a benchmark's own process."""

from __future__ import annotations

from pathlib import Path


def peak_rss_bytes() -> int:
    """Return it so far; `ru_maxrss` would be that of the process which started this one, where that had more."""
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    return int(status.partition("VmHWM:")[2].split()[0]) << 10
