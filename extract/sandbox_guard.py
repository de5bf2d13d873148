"""Stand between a sandbox and its child: start the child under limits, watch its whole tree, end it, say why.

Run as `python -S -m extract.sandbox_guard JSON`. The guard is the subreaper of all that the child starts, so a
double fork cannot escape it, and it holds the read end of a lifeline: when the parent dies, however it dies, the
tree is killed and the private folder removed. Its one report is a JSON line on the control pipe.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import resource
import select
import shutil
import signal
import sys
from dataclasses import dataclass, field
from typing import Any

from extract.sandbox_isolation import NOT_ISOLATED, isolate
from extract.sandbox_tree import descendants, kill_descendants, proportional_bytes, reap, resident_bytes

POLL_MS = 40
TAIL_BYTES = 16 << 10
_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36


@dataclass(slots=True)
class Guarded:
    """The running child as the guard sees it; byte counts are since the start of the current request."""

    pid: int
    outputs: dict[int, str]
    limits: dict[str, Any]
    output_bytes: int = 0
    tail: bytes = b""
    breach: tuple[str, str] | None = None
    status: int | None = None
    open_fds: set[int] = field(default_factory=set[int])


def main(text: str) -> None:
    """Guard one child as the JSON text says (keys: command, directory, limits, control_fd, lifeline_fd)."""
    config = json.loads(text)
    control_fd, lifeline_fd = config["control_fd"], config["lifeline_fd"]
    for fd in (control_fd, lifeline_fd):
        os.set_inheritable(fd, False)
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)
    child = start(config["command"], config["directory"], config["limits"])
    for fd in config["worker_fds"]:
        os.close(fd)
    _write(control_fd, {"pid": child.pid})
    try:
        watch(child, lifeline_fd)
    finally:
        kill_descendants(os.getpid())
        drain(child)
        _write(control_fd, report(child))
        shutil.rmtree(config["directory"], ignore_errors=True)


def start(command: list[str], directory: str, limits: dict[str, Any]) -> Guarded:
    """Fork and execute the command in a new session with its limits set; its output goes to two pipes."""
    out_read, out_write = os.pipe()
    err_read, err_write = os.pipe()
    guard_pid = os.getpid()
    pid = os.fork()
    if pid == 0:
        try:
            _become_child(guard_pid, directory, limits, (out_write, err_write))
            os.execvp(command[0], command)
        finally:
            os._exit(127)
    os.close(out_write)
    os.close(err_write)
    for fd in (out_read, err_read):
        os.set_blocking(fd, False)
    return Guarded(pid, {out_read: "stdout", err_read: "stderr"}, limits, open_fds={out_read, err_read})


def watch(child: Guarded, lifeline_fd: int) -> None:
    """Return when the child ended, broke a limit, or the sandbox asked for its end or is gone."""
    poll = select.poll()
    for fd in (lifeline_fd, *child.open_fds):
        poll.register(fd, select.POLLIN)
    while child.status is None and child.breach is None:
        for fd, _ in poll.poll(POLL_MS):
            if fd == lifeline_fd:
                commands = os.read(lifeline_fd, 4096)
                if not commands or b"k" in commands:
                    return
                _begin_request(child)
            elif not _read_output(child, fd):
                poll.unregister(fd)
        child.status = reap().get(child.pid)
        child.breach = child.breach or tree_breach(child.pid, child.limits)


def tree_breach(pid: int, limits: dict[str, Any]) -> tuple[str, str] | None:
    """Compare the tree of the child (all that the guard adopted too) with its limits: (reason, detail) or null."""
    below = [one for one in descendants(os.getpid()) if one != pid]
    if len(below) > limits["num_processes"]:
        return "too_many_processes", f"{len(below)} child processes, limit {limits['num_processes']}"
    everyone = [pid, *below]
    held = resident_bytes(everyone)
    if held > limits["resident_bytes"] and below:
        held = proportional_bytes(everyone)
    if held > limits["resident_bytes"]:
        allowed = limits["resident_bytes"] / 2**30
        return "out_of_memory", f"resident memory {held / 2**30:.2f} GiB, limit {allowed:.2f} GiB"
    return None


def drain(child: Guarded) -> None:
    """Take what is left in the output pipes, for the tail."""
    for fd in list(child.open_fds):
        while _read_output(child, fd) and select.select([fd], [], [], 0)[0]:
            pass


def report(child: Guarded) -> dict[str, Any]:
    """Return why the child ended: `reason` of a breach or null, wait status, last bytes of stderr."""
    reason, detail = child.breach or (None, "")
    tail = child.tail.decode(errors="replace")
    return {"reason": reason, "detail": detail, "status": child.status, "stderr": tail}


def _begin_request(child: Guarded) -> None:
    """Start counting output anew: what lies in the pipes now, a pipe's capacity at most, may be the last request's."""
    before = child.breach
    for fd in list(child.open_fds):
        _read_output(child, fd)
    child.output_bytes, child.breach = 0, before


def _read_output(child: Guarded, fd: int) -> bool:
    """Read once; False when the pipe is at its end."""
    try:
        chunk = os.read(fd, 1 << 16)
    except BlockingIOError:
        return True
    if not chunk:
        child.open_fds.discard(fd)
        return False
    child.output_bytes += len(chunk)
    if child.outputs[fd] == "stderr":
        child.tail = (child.tail + chunk)[-TAIL_BYTES:]
    limit = child.limits["output_bytes"]
    if child.output_bytes > limit and child.breach is None:
        child.breach = ("output_flood", f"more than {limit} bytes on {child.outputs[fd]}")
    return True


def _become_child(guard_pid: int, directory: str, limits: dict[str, Any], outputs: tuple[int, int]) -> None:
    os.setsid()
    _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != guard_pid:
        os._exit(127)
    for kind, amount in (
        (resource.RLIMIT_AS, limits["address_bytes"]),
        (resource.RLIMIT_FSIZE, limits["file_bytes"]),
        (resource.RLIMIT_CORE, 0),
    ):
        resource.setrlimit(kind, (amount, amount))
    os.chdir(directory)
    null_fd = os.open(os.devnull, os.O_RDONLY)
    for source_fd, fd in ((null_fd, 0), (outputs[0], 1), (outputs[1], 2)):
        os.dup2(source_fd, fd)
    if limits["isolated"]:
        try:
            isolate(directory)
        except OSError as error:
            os.write(2, f"{NOT_ISOLATED}: {error}".encode())
            os._exit(127)


def _prctl(option: int, value: int) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(option, value, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), f"prctl({option}) failed")


def _write(fd: int, message: dict[str, Any]) -> None:
    with contextlib.suppress(BrokenPipeError):
        os.write(fd, json.dumps(message).encode() + b"\n")


if __name__ == "__main__":
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    main(sys.argv[1])
