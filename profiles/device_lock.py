"""The right to time on a device alone, for one process of this host at a time. Standard library only."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import tempfile
from collections.abc import Iterator
from pathlib import Path


class DeviceError(Exception):
    """There is no such device here, or another process holds it."""


@contextlib.contextmanager
def device_lock(device_id: str, folder: Path | None = None) -> Iterator[None]:
    """Hold a device on this host against other timing processes, which would be timed along.

    Raises DeviceError at once where another holds it.
    """
    name = f"passnet-{hashlib.sha256(device_id.encode()).hexdigest()[:16]}.lock"
    path = (folder or Path(tempfile.gettempdir())) / name
    with path.open("a") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise DeviceError(f"another process is timing on {device_id} ({path} is locked); wait for it") from None
        yield
