"""The right to time on a device alone, for one process of this host at a time. Standard library only."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path


class DeviceError(Exception):
    """There is no such device here, or another process holds it."""


@contextlib.contextmanager
def device_lock(device_id: str, folder: Path | None = None) -> Iterator[None]:
    """Hold a device on this host against other timing processes, of any user, which would be timed along.

    Raises DeviceError at once where another holds it.
    """
    name = f"passnet-{hashlib.sha256(device_id.encode()).hexdigest()[:16]}.lock"
    path = (folder or Path(tempfile.gettempdir())) / name
    lock = _open(path)
    try:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise DeviceError(f"another process is timing on {device_id} ({path} is locked); wait for it") from None
        yield
    finally:
        os.close(lock)


def _open(path: Path) -> int:
    """Open a file to lock it, which takes no right to write: another user may have made it."""
    try:
        try:
            return os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        except FileNotFoundError:
            return os.open(path, os.O_RDONLY | os.O_CREAT | os.O_CLOEXEC, 0o644)
    except OSError as error:
        raise DeviceError(f"{path} cannot be opened to hold the device ({error.strerror or error})") from error
