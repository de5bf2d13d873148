"""The child's side of a sandbox: answer requests from the pipes that the sandbox left in the environment."""

from __future__ import annotations

import os
import signal
import traceback
from collections.abc import Callable

from extract.sandbox_frames import Header, StreamClosed, receive, send

FDS_NAME = "PASSNET_SANDBOX_FDS"
REPLY_LOST_CODE = 117
_FIXED_SIGNALS = (signal.SIGKILL, signal.SIGSTOP)

Handler = Callable[[Header, bytes], tuple[Header, bytes]]


def take_pipes() -> tuple[int, int]:
    """Return the fds of requests and replies, hidden from what runs later; raises KeyError outside a sandbox."""
    request_fd, reply_fd = map(int, os.environ.pop(FDS_NAME).split(","))
    os.set_inheritable(request_fd, False)
    os.set_inheritable(reply_fd, False)
    return request_fd, reply_fd


def serve(pipes: tuple[int, int], handler: Handler, *, fork_each: bool = False) -> None:
    """Say that the child is ready, then answer requests one by one until the sandbox closes the pipe.

    With `fork_each` every request is answered in a fork of this process, so that whatever foreign code does to the
    interpreter (replaced functions, global settings, timers) ends with its own request; a fork's death is ours.
    `handler` maps header and payload to those of the reply. What it raises ends the child. When the reply cannot
    be sent, because foreign code closed the pipe, the process exits at once with `REPLY_LOST_CODE`.
    """
    request_fd, reply_fd = pipes
    _reply(reply_fd, {"id": 0}, b"")
    while True:
        try:
            header, payload = receive(request_fd)
        except StreamClosed:
            return
        except OSError:
            os._exit(REPLY_LOST_CODE)
        if fork_each:
            _answer_in_fork(reply_fd, handler, header, payload)
        else:
            _answer(reply_fd, handler, header, payload)


def _answer(reply_fd: int, handler: Handler, header: Header, payload: bytes) -> None:
    reply, reply_payload = handler(header, payload)
    _reply(reply_fd, {**reply, "id": header["id"]}, reply_payload)


def _answer_in_fork(reply_fd: int, handler: Handler, header: Header, payload: bytes) -> None:
    done_fd, fork_fd = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            _answer(reply_fd, handler, header, payload)
            os.write(fork_fd, b"d")
        except BaseException:  # foreign code
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    os.close(fork_fd)
    _, status = os.waitpid(pid, 0)
    os.set_blocking(done_fd, False)
    try:
        has_answered = os.read(done_fd, 1) == b"d"
    except BlockingIOError:  # something that the fork started holds the pipe open
        has_answered = False
    os.close(done_fd)
    if os.WIFSIGNALED(status):
        signal.signal(os.WTERMSIG(status), signal.SIG_DFL) if os.WTERMSIG(status) not in _FIXED_SIGNALS else None
        os.kill(os.getpid(), os.WTERMSIG(status))
    if not has_answered or os.WEXITSTATUS(status):
        os._exit(os.WEXITSTATUS(status))


def _reply(fd: int, header: Header, payload: bytes) -> None:
    try:
        send(fd, header, payload)
    except OSError:
        os._exit(REPLY_LOST_CODE)
