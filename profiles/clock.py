"""Where times come from: what the timer asks of a clock and of a device, and the clock of this host.

The timer takes both as arguments, so that its tests script them, and foreign code that replaces the functions of `time`
while it runs changes no measurement.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Protocol


class Clock(Protocol):
    """Tells time in nanoseconds since some moment, never backwards, and waits."""

    @property
    def now_ns(self) -> Callable[[], int]:
        """The function that returns the time; called without a frame of ours between."""
        ...

    @property
    def sleep(self) -> Callable[[float], None]:
        """The function that returns after so many seconds."""
        ...


class HostClock:
    """The monotonic clock of this host, its functions bound when it is made: make it before any foreign code runs."""

    __slots__ = ("_functions",)

    def __init__(self) -> None:
        self._functions = time.perf_counter_ns, time.sleep

    @property
    def now_ns(self) -> Callable[[], int]:
        """The function that returns the time."""
        return self._functions[0]

    @property
    def sleep(self) -> Callable[[float], None]:
        """The function that waits."""
        return self._functions[1]


class DeviceClock(Protocol):
    """A device that still works when a call has returned, and that tells how long it worked.

    `start` and `stop` enclose one call and nothing else; `stop` comes right after the call, before any `synchronize`,
    and not at all where the call raised: the next `start` forgets the one without a stop.
    """

    def before_trial(self) -> None:
        """Bring the caches to where a trial starts (a flush, say); the work may be queued."""
        ...

    def synchronize(self) -> None:
        """Return when all that was queued is done; raises what went wrong meanwhile."""
        ...

    def start(self) -> None:
        """Begin to measure; may queue what keeps the device busy until the whole call is queued."""
        ...

    def stop(self) -> int:
        """Wait for the work queued since `start` and return the nanoseconds that the device took for it."""
        ...
