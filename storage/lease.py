"""Which runs are alive, and the files that dead ones left behind.

A run holds a shared flock on `runs/<run_id>.lease` while it writes; the kernel drops it however the run ends. Every
file that a run writes carries the run's id in its name, so the next writer can remove what a killed run wrote and
never committed, and nothing that a live run is about to commit.
"""

from __future__ import annotations

import fcntl
import logging
import os
import re
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import orjson

from storage.errors import UsageError
from storage.filesystem import TEMPORARY_PREFIX, make_folder, remove
from storage.manifest import MANIFESTS_FOLDER, manifest_numbers, read_manifest
from storage.schemas import SCHEMAS

RUNS_FOLDER = "runs"
_RUN_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_OWNED = re.compile(rf"(?:{re.escape(TEMPORARY_PREFIX)})?(?P<run_id>.+)-[0-9a-f]{{8}}\.(?:parquet|json)")
_LOGGER = logging.getLogger(__name__)


class Lease:
    """Says that a run is alive, until `release` or the end of this process."""

    def __init__(self, root: Path, run_id: str) -> None:
        if not _RUN_ID.fullmatch(run_id):
            raise UsageError(f"run id {run_id!r} is not a file name", "use letters, digits, dots and dashes")
        self.run_id = run_id
        self._descriptor = _take(_lease_path(root, run_id))

    def release(self) -> None:
        """Say that the run writes no more; its uncommitted files belong to the next writer."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1


def remove_orphans(root: Path) -> list[Path]:
    """Remove the files that dead runs wrote and never committed, and their leases; return the files.

    Files that any manifest names stay, as do those of live runs and those that no run of ours could have written.
    """
    owned = _files_by_run(root)
    dead = {path.stem: _try_own(path) for path in sorted((root / RUNS_FOLDER).glob("*.lease"))}
    try:
        committed = _committed_paths(root)
        orphans = [
            path
            for run_id, paths in owned.items()
            if dead.get(run_id, -1) is not None
            for path in paths
            if path.relative_to(root).as_posix() not in committed
        ]
        for path in orphans:
            remove(path)
        for run_id, descriptor in dead.items():
            if descriptor is not None:
                remove(_lease_path(root, run_id))
    finally:
        for descriptor in dead.values():
            if descriptor is not None:
                os.close(descriptor)
    if orphans:
        _LOGGER.info("removed %d files that killed runs left in %s", len(orphans), root)
    return orphans


@contextmanager
def committing(root: Path, *, alone: bool = False) -> Generator[None]:
    """Hold off whoever removes old manifests (`alone`) while a new one is being made from the newest.

    Commits do not wait for each other. Were older numbers removed meanwhile, a slow writer could take one of them.
    """
    make_folder(root / RUNS_FOLDER)
    with (root / RUNS_FOLDER / "commit.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX if alone else fcntl.LOCK_SH)
        yield


def _lease_path(root: Path, run_id: str) -> Path:
    return root / RUNS_FOLDER / f"{run_id}.lease"


def _take(path: Path) -> int:
    """Open and share-lock a lease, again when a cleaner removed the file meanwhile."""
    make_folder(path.parent)
    while True:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
        fcntl.flock(descriptor, fcntl.LOCK_SH)
        if os.fstat(descriptor).st_nlink:
            os.ftruncate(descriptor, 0)
            os.pwrite(descriptor, orjson.dumps({"pid": os.getpid(), "host": os.uname().nodename}), 0)
            return descriptor
        os.close(descriptor)


def _try_own(path: Path) -> int | None:
    """Lock a lease that nobody holds and return its descriptor; None while its run is alive."""
    try:
        descriptor = os.open(path, os.O_RDWR)
    except FileNotFoundError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        return None
    return descriptor


def _files_by_run(root: Path) -> dict[str, list[Path]]:
    """List run-owned files *before* leases are probed: a run that starts later has none in the list."""
    folders = [root / MANIFESTS_FOLDER, *(root / table for table in SCHEMAS)]
    owned: dict[str, list[Path]] = {}
    for path in (path for folder in folders if folder.is_dir() for path in folder.rglob("*")):
        if match := _OWNED.fullmatch(path.name):
            owned.setdefault(match["run_id"], []).append(path)
    return owned


def _committed_paths(root: Path) -> set[str]:
    return {path for number in manifest_numbers(root) for path in read_manifest(root, number).paths()}
