"""The child's side of a sandbox: answer requests from the pipes that the sandbox left in the environment."""

from __future__ import annotations

import os
from collections.abc import Callable

from extract.sandbox_frames import Header, StreamClosed, receive, send

FDS_NAME = "PASSNET_SANDBOX_FDS"
REPLY_LOST_CODE = 117

Handler = Callable[[Header, bytes], tuple[Header, bytes]]


def take_pipes() -> tuple[int, int]:
    """Return the fds of requests and replies, hidden from what runs later; raises KeyError outside a sandbox."""
    request_fd, reply_fd = map(int, os.environ.pop(FDS_NAME).split(","))
    os.set_inheritable(request_fd, False)
    os.set_inheritable(reply_fd, False)
    return request_fd, reply_fd


def serve(pipes: tuple[int, int], handler: Handler) -> None:
    """Say that the child is ready, then answer requests one by one until the sandbox closes the pipe.

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
        reply, reply_payload = handler(header, payload)
        _reply(reply_fd, {**reply, "id": header["id"]}, reply_payload)


def _reply(fd: int, header: Header, payload: bytes) -> None:
    try:
        send(fd, header, payload)
    except OSError:
        os._exit(REPLY_LOST_CODE)
