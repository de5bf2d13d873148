"""A warm, killable child that answers requests: foreign code runs there, under limits, and never here.

One `Sandbox` is one child at a time (started at need, replaced when it fails or has served enough) and is used by
one thread at a time (`interrupt` excepted). A request that the child does not survive raises `ChildFailed` with a
reason of `extract.failure.Reason`; the next request finds a new child. Standard library only.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from extract.failure import Reason
from extract.sandbox_child import FDS_NAME, REPLY_LOST_CODE
from extract.sandbox_frames import (
    FrameError,
    Header,
    StreamClosed,
    StreamStopped,
    deadline_in,
    receive_until,
    send_until,
)
from extract.sandbox_tree import descendants, kill_marked, resident_bytes, with_token

GIB = 1 << 30
_ROOT = Path(__file__).resolve().parents[1]
_INHERITED = ("PATH", "HOME", "LANG", "LC_ALL", "LD_LIBRARY_PATH", "PYTHONPATH", "CUDA_VISIBLE_DEVICES", "VIRTUAL_ENV")
_END_SECONDS = 15.0
_LEAVE_SECONDS = 0.5  # a fork that has answered ends within milliseconds
_TAIL_CHARS = 600


@dataclass(frozen=True, slots=True)
class Limits:
    """What one child may use.

    `seconds` per request and `start_seconds` for imports are wall time. `address_bytes` is RLIMIT_AS of each
    process (torch and timm map 3.6 GiB before they hold any tensor), `resident_bytes` the memory of the whole tree,
    `num_processes` those beside the child, `output_bytes` stdout and stderr of one request, `file_bytes` the
    largest file. A child that served `num_requests` or holds more than `recycle_bytes` is replaced between requests. An
    `isolated` child has no network, sees no process but its own and writes only in its private folder (Linux;
    StartFailed where that is forbidden).
    """

    seconds: float = 120.0
    start_seconds: float = 180.0
    address_bytes: int = 16 * GIB
    resident_bytes: int = 3 * GIB
    num_processes: int = 16
    output_bytes: int = 1 << 20
    file_bytes: int = 1 << 28
    num_requests: int = 400
    recycle_bytes: int = 3 * GIB // 2
    isolated: bool = False


class ChildFailed(Exception):
    """The child did not survive a request, or answered nonsense."""

    def __init__(self, reason: Reason, detail: str) -> None:
        super().__init__(reason, detail)
        self.reason = reason
        self.detail = detail

    def __str__(self) -> str:
        return f"{self.reason}: {self.detail}"


class StartFailed(Exception):
    """The child ended, or stayed silent, before it served anything: its command is wrong, no subject is to blame."""


class _KilledAtStart(StartFailed):
    """A signal from outside ended the child; our own kills have other reasons."""


@dataclass(slots=True)
class _Child:
    guard: subprocess.Popen[bytes]
    request_fd: int
    reply_fd: int
    control_fd: int
    lifeline_fd: int
    directory: str
    token: str
    pid: int = 0
    num_served: int = 0
    own: frozenset[int] = frozenset()  # what belongs to an isolated child beside `pid`


class Sandbox:
    """Runs `command` (a program that calls `extract.sandbox_child.serve`) and asks it, one request at a time."""

    def __init__(self, command: Sequence[str], limits: Limits | None = None, env: Mapping[str, str] | None = None):
        self.limits = limits or Limits()
        self._command = list(command)
        self._env = dict(env or {})
        self._child: _Child | None = None
        self._num_started = 0
        self._interrupted: str | None = None
        self._lock = threading.Lock()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def num_started(self) -> int:
        """How many children there have been."""
        return self._num_started

    @property
    def num_served(self) -> int:
        """How many requests the present child has answered; 0 where there is none."""
        return self._child.num_served if self._child else 0

    def start(self) -> None:
        """Start a child unless one is there; raises StartFailed with the end of its stderr.

        One that somebody killed before it served anything is started once more: no subject and no installation is to
        blame for that.
        """
        if self._child is not None and not _readable(self._child.control_fd):
            return
        try:
            self._start()
        except _KilledAtStart:
            self._start()

    def _start(self) -> None:
        self.close()
        child = self._child = _spawn(self._command, self.limits, self._env)
        self._num_started += 1
        deadline = deadline_in(self.limits.start_seconds)
        try:
            receive_until(child.reply_fd, deadline, child.control_fd)
        except (StreamStopped, StreamClosed, FrameError) as error:
            failure = self._end(error, self.limits.start_seconds)
            kind = _KilledAtStart if failure.detail.startswith("SIGKILL") else StartFailed
            raise kind(f"the child did not start: {failure.reason}: {failure.detail}") from None
        child.own = frozenset(descendants(child.pid)) if self.limits.isolated else frozenset()

    def request(self, header: Header, payload: bytes = b"", seconds: float | None = None) -> tuple[Header, bytes]:
        """Send one request and return the reply; raises ChildFailed, StartFailed."""
        self.start()
        child = self._child
        if child is None:
            raise StartFailed("the child is gone")
        limit = self.limits.seconds if seconds is None else seconds
        deadline, number = deadline_in(limit), child.num_served + 1
        try:
            os.write(child.lifeline_fd, b"n")
            send_until(child.request_fd, {**header, "id": number}, payload, deadline, child.control_fd)
            reply, reply_payload = receive_until(child.reply_fd, deadline, child.control_fd)
            if reply.pop("id", None) != number:
                raise FrameError("a reply to another request")
        except (StreamStopped, StreamClosed, FrameError, BrokenPipeError) as error:
            raise self._end(error, limit) from None
        child.num_served = number
        self._recycle(child)
        return reply, reply_payload

    def interrupt(self) -> None:
        """End the child from any thread: the request in progress raises ChildFailed with reason `killed`."""
        with self._lock:
            if self._child is not None:
                self._interrupted = self._child.token
                _ask_to_end(self._child)

    def close(self) -> None:
        """End the child and all that it started; the sandbox can be used again."""
        child = self._take_child()
        if child is not None:
            _read_report(child)
            _dispose(child)

    def _take_child(self) -> _Child | None:
        """Detach the child under the lock, so that `interrupt` never writes to a pipe that is closed."""
        with self._lock:
            child, self._child = self._child, None
        return child

    def _recycle(self, child: _Child) -> None:
        old = child.num_served >= self.limits.num_requests or resident_bytes([child.pid]) > self.limits.recycle_bytes
        if old or _leaves_behind(child):
            self.close()

    def _end(self, error: Exception, limit: float) -> ChildFailed:
        """Kill the child and say why it failed, from what was seen here and what its guard reports."""
        child = self._take_child()
        if child is None:
            return ChildFailed(Reason.BAD_REPLY, "the child is gone")
        stopped = isinstance(error, StreamStopped)
        timed_out = stopped and error.fd is None
        if not timed_out and not isinstance(error, FrameError):
            _wait_readable(child.control_fd, 5.0)
        report = _read_report(child)
        _dispose(child)
        if self._interrupted == child.token:
            return ChildFailed(Reason.KILLED, "interrupted by this run")
        if timed_out and report.get("reason") is None:
            return ChildFailed(Reason.TIMEOUT, f"no reply within {limit:g} s{_tail(report)}")
        if isinstance(error, FrameError):
            return ChildFailed(Reason.BAD_REPLY, f"{error}{_tail(report)}")
        return _explain(report)


def _leaves_behind(child: _Child) -> bool:
    """Tell whether processes of a child outlive its answer; one that is about to end gets a moment for it."""
    deadline = time.monotonic() + _LEAVE_SECONDS
    while not child.own.issuperset(descendants(child.pid)):
        if time.monotonic() > deadline:
            return True
        time.sleep(0.002)
    return False


def _explain(report: Mapping[str, Any]) -> ChildFailed:
    """Turn the guard's report on an ended child into a reason and a detail."""
    stderr, status = str(report.get("stderr", "")), report.get("status")
    if report.get("reason"):
        return ChildFailed(Reason(report["reason"]), f"{report['detail']}{_tail(report)}")
    if status is None:
        return ChildFailed(Reason.BAD_REPLY, f"the reply pipe was closed while the child went on{_tail(report)}")
    starved = any(
        word in stderr for word in ("bad_alloc", "MemoryError", "not enough memory", "Cannot allocate memory")
    )
    if os.WIFSIGNALED(status):
        name = signal.Signals(os.WTERMSIG(status)).name
        reason = {"SIGKILL": Reason.KILLED}.get(name, Reason.OUT_OF_MEMORY if starved else Reason.CRASHED)
        return ChildFailed(reason, f"{name}{_tail(report)}")
    code = os.waitstatus_to_exitcode(status)
    if code == REPLY_LOST_CODE:
        return ChildFailed(Reason.BAD_REPLY, f"the pipes to the child were closed by what ran in it{_tail(report)}")
    return ChildFailed(Reason.OUT_OF_MEMORY if starved else Reason.EXITED, f"exit code {code}{_tail(report)}")


def _tail(report: Mapping[str, Any]) -> str:
    """Return what stderr says of the end: from a fatal error on (less its list of modules), else its last words."""
    text = " ".join(str(report.get("stderr", "")).partition("Extension modules:")[0].split())
    fatal = text.rfind("Fatal Python error")
    said = text[fatal : fatal + _TAIL_CHARS] if fatal >= 0 else text[-_TAIL_CHARS:]
    return f"; stderr: {said}" if said else ""


def _spawn(command: list[str], limits: Limits, env: Mapping[str, str]) -> _Child:
    request_read, request_write = os.pipe()
    reply_read, reply_write = os.pipe()
    control_read, control_write = os.pipe()
    lifeline_read, lifeline_write = os.pipe()
    directory, token = tempfile.mkdtemp(prefix="passnet-sandbox-"), uuid.uuid4().hex
    config = {
        "command": command,
        "directory": directory,
        "limits": asdict(limits),
        "control_fd": control_write,
        "lifeline_fd": lifeline_read,
        "worker_fds": [request_read, reply_write],
    }
    theirs = (request_read, reply_write, control_write, lifeline_read)
    guard = subprocess.Popen(
        [sys.executable, "-S", "-m", "extract.sandbox_guard", json.dumps(config)],
        env=with_token(_environment(directory, {**env, FDS_NAME: f"{request_read},{reply_write}"}), token),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        cwd="/",
        pass_fds=theirs,
        start_new_session=True,
    )
    for fd in theirs:
        os.close(fd)
    os.set_blocking(request_write, False)
    child = _Child(guard, request_write, reply_read, control_read, lifeline_write, directory, token)
    child.pid = int(_read_line(child.control_fd, 30.0).get("pid", 0))
    return child


def _environment(directory: str, env: Mapping[str, str]) -> dict[str, str]:
    """The child sees no secret: a few named variables, a private place for files, and what the caller adds."""
    kept = {name: os.environ[name] for name in _INHERITED if name in os.environ}
    given = filter(None, kept.get("PYTHONPATH", "").split(os.pathsep))
    paths = [str(_ROOT), *map(os.path.abspath, given)]  # the child works in another directory
    kept |= {"PYTHONPATH": os.pathsep.join(paths), "TMPDIR": directory, "PYTHONDONTWRITEBYTECODE": "1"}
    return {**kept, **env}


def _read_report(child: _Child) -> dict[str, Any]:
    """Ask the guard to end the tree and return its report; empty when the guard itself is gone."""
    _ask_to_end(child)
    return _read_line(child.control_fd, _END_SECONDS)


def _ask_to_end(child: _Child) -> None:
    with contextlib.suppress(BrokenPipeError):
        os.write(child.lifeline_fd, b"k")


def _dispose(child: _Child) -> None:
    for fd in (child.request_fd, child.reply_fd, child.control_fd, child.lifeline_fd):
        os.close(fd)
    try:
        code = child.guard.wait(_END_SECONDS)
    except subprocess.TimeoutExpired:
        child.guard.kill()
        code = child.guard.wait()
    if code != 0:
        kill_marked(child.token)
        shutil.rmtree(child.directory, ignore_errors=True)


def _read_line(fd: int, seconds: float) -> dict[str, Any]:
    until = time.monotonic() + seconds
    line = b""
    while not line.endswith(b"\n"):
        if not _wait_readable(fd, until - time.monotonic()):
            return {}
        byte = os.read(fd, 1)
        if not byte:
            return {}
        line += byte
    return json.loads(line)


def _readable(fd: int) -> bool:
    return _wait_readable(fd, 0.0)


def _wait_readable(fd: int, seconds: float) -> bool:
    poll = select.poll()
    poll.register(fd, select.POLLIN)
    return bool(poll.poll(max(0, int(seconds * 1000))))
