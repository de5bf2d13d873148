"""Backends that end badly where a program has a relu, for children that tests start; `hopeless` always does."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import time
from collections.abc import Callable
from typing import Any

from profiles.backends import Backend, Runner


def segfault(run: Runner, *operands: Any) -> Any:
    ctypes.string_at(0)


def hang(run: Runner, *operands: Any) -> Any:
    while True:
        time.sleep(1)


def swell(run: Runner, *operands: Any) -> Any:
    held = []
    while True:
        held.append(b"x" * (64 << 20))


def fail(run: Runner, *operands: Any) -> Any:
    raise ValueError("not\nthis program")


def spoil(run: Runner, *operands: Any) -> Any:
    return [output.fill_(float("nan")) for output in run(*operands)]


def overwrite(run: Runner, *operands: Any) -> Any:
    outputs = run(*operands)
    operands[0].fill_(7.0)
    return outputs


def leave(run: Runner, *operands: Any) -> Any:
    sys.exit(3)


def close(run: Runner, *operands: Any) -> Any:
    os.closerange(3, 256)
    return run(*operands)


def kill(run: Runner, *operands: Any) -> Any:
    os.kill(os.getpid(), signal.SIGKILL)


def stop_clock(run: Runner, *operands: Any) -> Any:
    time.perf_counter_ns = time.monotonic_ns = lambda: 0  # pyright: ignore[reportAttributeAccessIssue]
    time.perf_counter = time.monotonic = lambda: 0.0  # pyright: ignore[reportAttributeAccessIssue]
    return run(*operands)


def _backend(name: str, call: Callable[..., Any], is_picky: bool = True) -> Backend:
    def build(module: Any, operands: Any) -> Runner:
        if is_picky and "relu" not in module.code:
            return module.forward
        return lambda *operands: call(module.forward, *operands)

    return Backend(name, "nothing", lambda device: None, build)


segfaulting = _backend("segfaulting", segfault)
hanging = _backend("hanging", hang)
swelling = _backend("swelling", swell)
failing = _backend("failing", fail)
spoiling = _backend("spoiling", spoil)
overwriting = _backend("overwriting", overwrite)
leaving = _backend("leaving", leave)
closing = _backend("closing", close)
killing = _backend("killing", kill)
clockless = _backend("clockless", stop_clock)
hopeless = _backend("hopeless", segfault, is_picky=False)
NAMES = "segfaulting hanging swelling failing spoiling overwriting leaving closing killing clockless hopeless".split()
