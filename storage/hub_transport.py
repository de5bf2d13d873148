"""How every call to the Hub is made: bounded in wall time and in bytes, and tried again where that may help.

`HubTransport` carries the requests of huggingface_hub's own client, which by itself sets no timeout on listings and
none on a body that drips. One call has `call_seconds` from its first byte to its last, whatever the other side does.
429 and 5xx answers, and calls that break, are tried again: after what Retry-After (or the Hub's RateLimit header)
says, else after twice the wait before; a 429 holds back all other calls, too. What is given up raises HubUnavailable.
"""

from __future__ import annotations

import asyncio
import email.utils
import random
import threading
import time
from collections.abc import Generator, Mapping
from concurrent.futures import CancelledError
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Final

import httpx2
from huggingface_hub.utils import parse_ratelimit_headers, set_client_factory

_RETRIED_STATUSES: Final = frozenset({408, 429, 500, 502, 503, 504})
_TOO_MANY: Final = 429
_BROKEN: Final = (httpx2.RequestError, TimeoutError, OSError)
_NO_CONNECTION: Final = (httpx2.ConnectError, ConnectionError)
_LENGTH_HEADERS: Final = frozenset({"content-encoding", "content-length", "transfer-encoding"})
MAX_BYTES_EXTENSION: Final = "passnet_max_bytes"


@dataclass(frozen=True, slots=True)
class CallLimits:
    """Bounds of one call.

    `call_seconds` is wall time of one attempt, body included; `max_attempts` counts those that break or meet a 5xx,
    while 429 answers are waited out for `patience_seconds` in all. Waits begin at `first_wait_seconds` and double up
    to `max_wait_seconds`, which also bounds what a server may ask for. `max_bytes` is the largest body, decoded.
    After `max_unreached` attempts in a row that found nobody listening the Hub counts as gone, and at once where it
    never answered.
    """

    call_seconds: float = 20.0
    max_attempts: int = 5
    patience_seconds: float = 900.0
    first_wait_seconds: float = 0.5
    max_wait_seconds: float = 300.0
    max_bytes: int = 64 << 20
    max_unreached: int = 20
    num_connections: int = 16


class HubUnavailable(Exception):
    """A call was given up; another day it may succeed."""


class HubGone(HubUnavailable):
    """Nobody listens there: no call of this run will succeed."""


class BodyTooLarge(Exception):
    """An answer is larger than was asked for; the rest of it was not read."""


class HubTransport(httpx2.BaseTransport):
    """Carries requests for a synchronous client, from any thread; each is a task of one event loop, with a deadline."""

    def __init__(self, limits: CallLimits) -> None:
        self.limits = limits
        self._not_before = 0.0
        self._num_unreached = 0
        self._has_answered = False
        self._is_closing = False
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="hub-calls", daemon=True)
        self._thread.start()
        pool = httpx2.Limits(max_connections=limits.num_connections, max_keepalive_connections=limits.num_connections)
        self._client = httpx2.AsyncClient(limits=pool, timeout=None, follow_redirects=False)  # deadlines are ours

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        """Return the answer, read whole; raises HubUnavailable, HubGone (also when the transport is closed meanwhile),
        BodyTooLarge."""
        if self._is_closing:
            raise HubGone("the run is ending")
        try:
            return asyncio.run_coroutine_threadsafe(self._call(request), self._loop).result()
        except CancelledError as error:
            raise HubGone("the run is ending") from error

    def close(self) -> None:
        """End the calls in progress, the connections and the thread."""
        if self._is_closing:
            return
        self._is_closing = True
        asyncio.run_coroutine_threadsafe(self._end_calls(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    async def _end_calls(self) -> None:
        calls = asyncio.all_tasks() - {asyncio.current_task()}
        for call in calls:
            call.cancel()
        await asyncio.gather(*calls, return_exceptions=True)
        await self._client.aclose()

    async def _call(self, request: httpx2.Request) -> httpx2.Response:
        patient_until = time.monotonic() + self.limits.patience_seconds
        wait, num_failed = self.limits.first_wait_seconds, 0
        while True:
            await self._wait_for_turn(patient_until)
            answer, problem, asked_wait = await self._attempt(request)
            if answer is not None and answer.status_code not in _RETRIED_STATUSES:
                return answer
            is_throttled = answer is not None and answer.status_code == _TOO_MANY
            num_failed += not is_throttled
            pause = min(wait if asked_wait is None else asked_wait, self.limits.max_wait_seconds)
            if num_failed >= self.limits.max_attempts or time.monotonic() + pause > patient_until:
                if not self._has_answered and self._num_unreached >= num_failed:
                    raise HubGone(f"{_address(request)} cannot be reached ({problem})")
                raise HubUnavailable(f"{problem}, {num_failed or 'too many'} times")
            wait = min(2 * wait, self.limits.max_wait_seconds)
            if is_throttled:
                self._not_before = max(self._not_before, time.monotonic() + pause)
            await asyncio.sleep(pause * random.uniform(1.0, 1.2))

    async def _wait_for_turn(self, patient_until: float) -> None:
        """Wait out what the Hub asked another call to wait for."""
        while (pause := self._not_before - time.monotonic()) > 0:
            if self._not_before > patient_until:
                raise HubUnavailable("the Hub keeps asking to wait")
            await asyncio.sleep(pause * random.uniform(1.0, 1.2))

    async def _attempt(self, request: httpx2.Request) -> tuple[httpx2.Response | None, str, float | None]:
        """Return the answer, else what went wrong, and the wait that the Hub asks for."""
        try:
            async with asyncio.timeout(self.limits.call_seconds):
                answer = await self._exchange(request)
        except _BROKEN as error:
            self._count_unreached(request, error)
            what = f"no whole answer within {self.limits.call_seconds:g} s" if isinstance(error, TimeoutError) else ""
            return None, what or f"{type(error).__name__}: {error}".rstrip(": "), None
        self._num_unreached, self._has_answered = 0, True
        return answer, f"status {answer.status_code}", _asked_wait(answer.headers)

    async def _exchange(self, request: httpx2.Request) -> httpx2.Response:
        own = httpx2.Request(request.method, request.url, headers=request.headers)
        answer = await self._client.send(own, stream=True)
        max_bytes = request.extensions.get(MAX_BYTES_EXTENSION, self.limits.max_bytes)
        try:
            content = bytearray()
            async for chunk in answer.aiter_bytes():
                content += chunk
                if len(content) > max_bytes:
                    raise BodyTooLarge(f"more than {max_bytes} bytes")
        finally:
            await answer.aclose()
        headers = [(name, value) for name, value in answer.headers.multi_items() if name.lower() not in _LENGTH_HEADERS]
        return httpx2.Response(answer.status_code, headers=headers, content=bytes(content), request=request)

    def _count_unreached(self, request: httpx2.Request, error: Exception) -> None:
        self._num_unreached = self._num_unreached + 1 if isinstance(error, _NO_CONNECTION) else 0
        if self._num_unreached >= self.limits.max_unreached:
            raise HubGone(f"{_address(request)} cannot be reached ({error})") from None


def _address(request: httpx2.Request) -> str:
    return f"{request.url.scheme}://{request.url.netloc.decode()}"


@contextmanager
def hub_calls(limits: CallLimits) -> Generator[HubTransport]:
    """Let huggingface_hub make all its calls through one HubTransport meanwhile."""
    transport = HubTransport(limits)
    # The client itself sets no timeout (None): each call has the transport's.
    set_client_factory(lambda: httpx2.Client(transport=transport, follow_redirects=True, timeout=None))
    try:
        yield transport
    finally:
        set_client_factory(lambda: httpx2.Client(follow_redirects=True, timeout=limits.call_seconds))
        transport.close()


def _asked_wait(headers: Mapping[str, str]) -> float | None:
    """Return the seconds that an answer asks to wait: Retry-After as a number or a date, else RateLimit's reset."""
    text = headers.get("retry-after")
    if text is not None:
        with suppress(ValueError):
            return max(0.0, float(text))
        with suppress(ValueError, OverflowError, TypeError):
            return max(0.0, email.utils.parsedate_to_datetime(text).timestamp() - time.time())
    limit = parse_ratelimit_headers(headers)
    return float(limit.reset_in_seconds) if limit is not None and limit.remaining == 0 else None
