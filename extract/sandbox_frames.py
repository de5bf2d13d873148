"""Messages between a sandbox and its child: a JSON header and raw bytes, length-prefixed, over two pipes.

A frame is `PNF1`, header length (u32), payload length (u64), header, payload; nothing is pickled, so a child that
a foreign model took over can send nonsense but cannot make its parent run anything.
"""

from __future__ import annotations

import json
import os
import select
import struct
import time
from typing import Any, NewType

Header = dict[str, Any]
Deadline = NewType("Deadline", float)

MAX_HEADER_BYTES = 64 << 20
MAX_PAYLOAD_BYTES = 4 << 30
_PREFIX = struct.Struct("<4sIQ")
_MAGIC = b"PNF1"
_CHUNK_BYTES = 1 << 20


class FrameError(Exception):
    """The bytes that came are no frame."""


class StreamClosed(Exception):
    """The other side closed its pipe."""


class StreamStopped(Exception):
    """The wait ended before the frame did: `fd` became readable, or the deadline passed (`fd` is null)."""

    def __init__(self, fd: int | None) -> None:
        super().__init__(fd)
        self.fd = fd


def deadline_in(seconds: float) -> Deadline:
    """Return the moment `seconds` from now on the monotonic clock."""
    return Deadline(time.monotonic() + seconds)


def encode(header: Header, payload: bytes) -> bytes:
    """Return the head of a frame: prefix and header; the payload follows it unchanged."""
    text = json.dumps(header).encode()
    return _PREFIX.pack(_MAGIC, len(text), len(payload)) + text


def send(fd: int, header: Header, payload: bytes = b"") -> None:
    """Write one frame to a blocking pipe; raises OSError when nobody reads it."""
    for part in (encode(header, payload), payload):
        view = memoryview(part)
        while view:
            view = view[os.write(fd, view[:_CHUNK_BYTES]) :]


def receive(fd: int) -> tuple[Header, bytes]:
    """Read one frame from a blocking pipe; raises StreamClosed at its end, FrameError on anything else."""
    return _receive(lambda size: os.read(fd, size))


def send_until(fd: int, header: Header, payload: bytes, deadline: Deadline, stop_fd: int) -> None:
    """Write one frame to a non-blocking pipe; raises StreamStopped at the deadline or when `stop_fd` is readable."""
    for part in (encode(header, payload), payload):
        view = memoryview(part)
        while view:
            _wait(fd, select.POLLOUT, deadline, stop_fd)
            try:
                view = view[os.write(fd, view[:_CHUNK_BYTES]) :]
            except BlockingIOError:
                continue
            except BrokenPipeError as error:
                raise StreamClosed from error


def receive_until(fd: int, deadline: Deadline, stop_fd: int) -> tuple[Header, bytes]:
    """Read one frame; raises StreamStopped at the deadline or when `stop_fd` is readable and `fd` is not."""

    def read(size: int) -> bytes:
        _wait(fd, select.POLLIN, deadline, stop_fd)
        return os.read(fd, size)

    return _receive(read)


def _receive(read: Any) -> tuple[Header, bytes]:
    magic, header_bytes, payload_bytes = _PREFIX.unpack(_read_exactly(read, _PREFIX.size))
    if magic != _MAGIC or header_bytes > MAX_HEADER_BYTES or payload_bytes > MAX_PAYLOAD_BYTES:
        raise FrameError("bytes on the reply pipe that are no frame")
    text = _read_exactly(read, header_bytes)
    try:
        header = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise FrameError("a frame whose header is not JSON") from error
    if not isinstance(header, dict):
        raise FrameError("a frame whose header is not a JSON object")
    return header, _read_exactly(read, payload_bytes)


def _read_exactly(read: Any, size: int) -> bytes:
    chunks = bytearray()
    while len(chunks) < size:
        chunk = read(min(size - len(chunks), _CHUNK_BYTES))
        if not chunk:
            raise StreamClosed
        chunks += chunk
    return bytes(chunks)


def _wait(fd: int, event: int, deadline: Deadline, stop_fd: int) -> None:
    poll = select.poll()
    poll.register(fd, event)
    poll.register(stop_fd, select.POLLIN)
    left_ms = max(0, int((deadline - time.monotonic()) * 1000))
    ready = dict(poll.poll(left_ms))
    if ready.get(fd, 0):
        return
    raise StreamStopped(stop_fd if stop_fd in ready else None)
