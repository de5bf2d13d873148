"""A CUDA device for the timer: its cache flushed before each trial, its own time from events.

What kernels take is to be measured, not what the host takes to launch them: before the first event the device is kept
busy by a kernel that waits, longer than the host took for the same call just before, so that the whole call is queued
when its first kernel begins. Of a program that waits for the device itself the time includes the host's.
"""

from __future__ import annotations

from collections.abc import Callable

import torch

from profiles.timing import Cache

_TIMES_CACHE = 2  # of the L2 cache: written, it holds nothing else
_TIMES_HOST = 2.0  # the device waits twice as long as the last call took the host
_LEAST_WAIT_NS = 20_000  # a launch takes some 5 us
_MOST_WAIT_NS = 100_000_000


class CudaClock:
    """The `DeviceClock` of a GPU; made once for all programs that are timed on it."""

    def __init__(self, device: torch.device, cache: Cache, now_ns: Callable[[], int]) -> None:
        """`now_ns` is the host clock's, to know how long a call takes there."""
        self._device = device
        self._now_ns = now_ns
        properties = torch.cuda.get_device_properties(device)
        num_bytes = _TIMES_CACHE * properties.L2_cache_size if cache == "cold" else 0
        self._ballast = torch.empty(num_bytes, dtype=torch.int8, device=device) if num_bytes else None
        self._cycles_per_ns = _measure_cycles(device)
        self._begin = torch.cuda.Event(enable_timing=True)
        self._end = torch.cuda.Event(enable_timing=True)
        self._host_ns = 0
        self._started_ns = 0

    def before_trial(self) -> None:
        """Queue the flush of the cache."""
        if self._ballast is not None:
            self._ballast.zero_()

    def synchronize(self) -> None:
        """Return when all that was queued is done."""
        torch.cuda.synchronize(self._device)

    def start(self) -> None:
        """Queue a wait, and the event after it."""
        wait_ns = min(max(_TIMES_HOST * self._host_ns, _LEAST_WAIT_NS), _MOST_WAIT_NS)
        with torch.cuda.device(self._device):
            torch.cuda._sleep(int(wait_ns * self._cycles_per_ns))
            self._begin.record()
        self._started_ns = self._now_ns()

    def stop(self) -> int:
        """Return the time between the events, in nanoseconds; CUDA resolves half a microsecond."""
        with torch.cuda.device(self._device):
            self._end.record()
        self._host_ns = self._now_ns() - self._started_ns
        self._end.synchronize()
        return round(self._begin.elapsed_time(self._end) * 1e6)


def _measure_cycles(device: torch.device) -> float:
    """Return how many cycles of `torch.cuda._sleep` pass in a nanosecond, by events."""
    cycles = 10_000_000
    begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    with torch.cuda.device(device):
        torch.cuda._sleep(cycles)  # brings the clock up
        begin.record()
        torch.cuda._sleep(cycles)
        end.record()
    end.synchronize()
    return cycles / (begin.elapsed_time(end) * 1e6)
