"""Memory of a timing process: what is freed stays with the process, as CUDA's caching allocator keeps a GPU's.

Under glibc's defaults a result of some 100 KiB goes back to the kernel when it is let go, and each page of the next one
is a fault: relu(batch_norm(x)), its mean and its sum with 1 over 784 KiB took 556 faults and 842 us a call, against
none and 70 us (measured on a virtual machine, whose faults are dear). Such a time is the kernel's, not the program's,
and moves with what else the machine does.
"""

from __future__ import annotations

import ctypes
import platform
from typing import Final

_M_TRIM_THRESHOLD: Final = -1  # malloc.h
_M_MMAP_MAX: Final = -4  # malloc.h
_NEVER: Final = -1  # mallopt(3): trimming is off


class _Kept:
    """Whether this process keeps what it frees."""

    done = False


def keep_freed_memory() -> bool:
    """Make this process keep what it frees, from now on; False where its C library has no way to (not glibc)."""
    _Kept.done = platform.libc_ver()[0] == "glibc" and _set_glibc()
    return _Kept.done


def describe_host_memory() -> str:
    """Return the C library that hands out memory, and whether what is freed stays with the process."""
    name = " ".join(filter(None, platform.libc_ver())) or "unknown"
    return f"{name}, freed memory {'kept' if _Kept.done else 'returned as it decides'}"


def _set_glibc() -> bool:
    mallopt = ctypes.CDLL(None).mallopt
    return bool(mallopt(_M_MMAP_MAX, 0)) and bool(mallopt(_M_TRIM_THRESHOLD, _NEVER))
