"""What runs below a given pid, how much memory it holds, and how to end all of it (Linux /proc)."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from pathlib import Path

_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
_TOKEN_NAME = "PASSNET_SANDBOX_TOKEN"


def descendants(pid: int) -> list[int]:
    """Return the pids below `pid`, itself not included; those that end meanwhile may or may not be in it."""
    found: list[int] = []
    todo = [pid]
    parents = _scan_parents()
    while todo:
        parent = todo.pop()
        below = _children(parent) if parents is None else parents.get(parent, [])
        found += below
        todo += below
    return found


def resident_bytes(pids: list[int]) -> int:
    """Sum the resident memory of `pids`; pages that they share count once per pid."""
    total = 0
    for pid in pids:
        with contextlib.suppress(OSError, IndexError, ValueError):
            total += int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * _PAGE_BYTES
    return total


def proportional_bytes(pids: list[int]) -> int:
    """Sum the resident memory of `pids` with shared pages counted once; slow on large ones (walks page tables)."""
    total = 0
    for pid in pids:
        with contextlib.suppress(OSError, ValueError):
            for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
                if line.startswith("Pss:"):
                    total += int(line.split()[1]) << 10
    return total


def kill_descendants(pid: int, seconds: float = 10.0) -> None:
    """Send SIGKILL to everything below `pid` until nothing is left; reaps when `pid` is this process."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        alive = descendants(pid)
        for child in alive:
            with contextlib.suppress(ProcessLookupError):
                os.kill(child, signal.SIGKILL)
        if pid == os.getpid():
            reap()
        if not alive:
            return
        time.sleep(0.005)


def reap() -> dict[int, int]:
    """Collect the ended children of this process: pid to wait status."""
    ended: dict[int, int] = {}
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return ended
        if pid == 0:
            return ended
        ended[pid] = status


def with_token(environment: dict[str, str], token: str) -> dict[str, str]:
    """Mark an environment, so that whatever inherits it can be found by `kill_marked`."""
    return {**environment, _TOKEN_NAME: token}


def kill_marked(token: str) -> int:
    """Kill every process that carries the token and return how many; needed only where a guard was killed itself."""
    mark = f"{_TOKEN_NAME}={token}".encode()
    killed = 0
    for folder in Path("/proc").iterdir():
        if not folder.name.isdigit():
            continue
        with contextlib.suppress(OSError):
            if mark in (folder / "environ").read_bytes().split(b"\0"):
                os.kill(int(folder.name), signal.SIGKILL)
                killed += 1
    return killed


def _children(pid: int) -> list[int]:
    below: list[int] = []
    with contextlib.suppress(OSError):
        for task in os.listdir(f"/proc/{pid}/task"):
            with contextlib.suppress(OSError):
                below += map(int, Path(f"/proc/{pid}/task/{task}/children").read_text().split())
    return below


def _scan_parents() -> dict[int, list[int]] | None:
    """Return parent to children by scanning /proc, or null where the kernel lists children itself."""
    if Path(f"/proc/self/task/{os.getpid()}/children").exists():
        return None
    parents: dict[int, list[int]] = {}
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        with contextlib.suppress(OSError, IndexError, ValueError):
            stat = Path(f"/proc/{name}/stat").read_text()
            parents.setdefault(int(stat.rpartition(")")[2].split()[1]), []).append(int(name))
    return parents
