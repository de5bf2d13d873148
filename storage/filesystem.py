"""The file operations that a corpus rests on, in one place so that an object store can take the disk's.

A name appears whole or not at all: bytes go to a hidden temporary name in the same folder, are fsynced, and the
name is given last (`rename`, or `link` where it must not exist yet); the folder is fsynced after.
"""

from __future__ import annotations

import errno
import hashlib
import os
import secrets
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from storage.errors import UsageError, from_os_error

TEMPORARY_PREFIX = ".tmp."
_NO_LINKS = frozenset({errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.EMLINK})


@contextmanager
def explained(path: Path) -> Generator[None]:
    """Turn a full disk or refused write inside into a WriteError or UsageError that names `path`."""
    try:
        yield
    except OSError as error:
        explanation = from_os_error(error, str(path))
        if explanation is None:
            raise
        raise explanation from error


def make_folder(path: Path) -> None:
    """Create a folder and its parents, durably; no error when it is there."""
    if path.is_dir():
        return
    path.mkdir(parents=True, exist_ok=True)
    sync_folder(path.parent)


def temporary_name(path: Path) -> Path:
    """Return the hidden name beside `path` under which it is to be written."""
    return path.with_name(TEMPORARY_PREFIX + path.name)


def unique_name(run_id: str, suffix: str) -> str:
    """Return a file name that no other writer takes: the run's id, a dash, 8 random hex characters."""
    return f"{run_id}-{secrets.token_hex(4)}{suffix}"


def publish(temporary: Path, path: Path) -> None:
    """Give a written file its name, durably; replaces what has that name."""
    sync_file(temporary)
    temporary.replace(path)
    sync_folder(path.parent)


def publish_exclusively(content: bytes, temporary: Path, path: Path) -> None:
    """Create `path` with `content` in one step; raises FileExistsError when it exists."""
    try:
        with temporary.open("wb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        _link(temporary, path)
        sync_folder(path.parent)
    finally:
        temporary.unlink(missing_ok=True)


def sync_file(path: Path) -> None:
    """Force a file's bytes to the disk."""
    _sync(path, os.O_RDONLY)


def sync_folder(path: Path) -> None:
    """Force a folder's names to the disk."""
    _sync(path, os.O_RDONLY | os.O_DIRECTORY)


def file_sha256(path: Path) -> str:
    """Return the SHA-256 (hex) of a file's bytes."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def remove(path: Path) -> None:
    """Remove a file if it is there."""
    path.unlink(missing_ok=True)


def _link(temporary: Path, path: Path) -> None:
    try:
        os.link(temporary, path)
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        raise UsageError(
            f"{path.parent} is on a file system without hard links ({error.strerror})", "put the corpus on another disk"
        ) from error


def _sync(path: Path, flags: int) -> None:
    descriptor = os.open(path, flags)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
