"""Subjects to their times: warmed up, then timed in interleaved blocks, again while noise is above a bound.

A subject is one way to run a program (a backend). Subjects that are to be compared are timed in one call, so that
whatever slows the machine down meets all of them. A trial prepares a call (untimed: operands are drawn or restored),
reads the clock, calls, and reads the clock again. What the call returns is let go before the second reading: freeing it
is part of running it, as in `torch.utils.benchmark`. What takes microseconds is called several times in a row within a
trial, each time with the operands of its own that were prepared for it, and the trial's time is shared out: one call of
2 us is told apart from the next by the clock and the caches more than by what it does. On a device that works on by
itself a trial is one call, and the second reading waits until it is done; a second run of the same trial then gives its
own time, so that measuring there costs the first run nothing.

The cyclic garbage collector is off within a block: a full collection takes up to 0.6 s with torch loaded (measured),
and would fall on whichever trial makes one object too many. What a block left is collected after it, because cycles may
hold tensors; of the youngest generation alone, which takes as long as there are new objects.

Noise is no failure: a subject that stays unsteady is returned as not stable. The order of blocks depends on the seed
and on which subjects raise, alone.
"""

from __future__ import annotations

import gc
import logging
import math
import random
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final

from profiles.clock import Clock, DeviceClock
from profiles.sample_statistics import iqr_frac, median

log = logging.getLogger(__name__)
_YOUNG: Final = 0  # the generation of objects made since the last collection
_NS_PER_US: Final = 1000.0


@dataclass(frozen=True, slots=True)
class TimerConfig:
    """How subjects are timed; numbers of the paper are in its appendix C, table 3."""

    warmup: int = 20  # trials of each subject before any counts: lazy initialisation, caches, clocks (paper)
    trials: int = 100  # timed trials of each subject in an attempt (paper)
    block: int = 10
    """Trials of one subject in a row: few, so that a second of noise meets all subjects; not one, because the first of
    a block finds the caches as another subject left them, and one in ten moves no quartile. Ours."""
    max_iqr_frac: float = 0.2  # interquartile range over median above which a subject is unsteady (paper)
    max_attempts: int = 5  # attempts at most while a subject is unsteady (issue 8, acceptance 2)
    trial_us: float = 1000.0
    """What a trial lasts at least, by as many calls as it takes. Ours: from one call a trial to these, the median
    spread of cold eager timings fell from 21 to 13 % between 1 and 10 us, from 12 to 6 % between 100 us and 1 ms
    (measured)."""
    wait_seconds: float = 0.05
    """Wait before the second attempt, doubled before each further one: in all 0.75 s, longer than a burst of another
    process, shorter than a compilation. Ours."""
    seed: int = 0  # decides the order of blocks

    def __post_init__(self) -> None:
        for name, least in (("warmup", 0), ("trials", 1), ("block", 1), ("max_attempts", 1)):
            if getattr(self, name) < least:
                raise ValueError(f"{name} must be at least {least}, not {getattr(self, name)}")
        for name in ("max_iqr_frac", "trial_us", "wait_seconds"):
            if not (math.isfinite(getattr(self, name)) and getattr(self, name) >= 0):
                raise ValueError(f"{name} must be finite and not negative, not {getattr(self, name)}")


@dataclass(frozen=True, slots=True)
class Subject:
    """What is timed: `prepare` returns one call, to be made once; it is asked before every trial, untimed.

    It draws or restores the operands, so that a call that writes to them does not change the next one. As many as
    `max_calls` may be prepared before the first of them is made. `begin_block` comes before a block's first trial.
    """

    name: str
    prepare: Callable[[], Callable[[], object]]
    max_calls: int = 1
    begin_block: Callable[[], None] = lambda: None


@dataclass(frozen=True, slots=True)
class Measurement:
    """The times of one subject's trials, in order, of its steadiest attempt (the first of equals); each is that of
    `calls` calls.

    `blocks` are the places of its blocks among all blocks of that attempt, counted from 0. `attempts` counts all that
    were begun with it. `stable` says whether `iqr_frac` is within the bound; where that is None (a median of zero: the
    clock is too coarse), it is not. A subject that raised has no times but the exception as `error`, without its
    traceback, which would hold operands; that is logged at level debug.
    """

    times_ns: tuple[int, ...]
    device_ns: tuple[int, ...] | None
    attempts: int
    blocks: tuple[int, ...]
    stable: bool | None
    error: Exception | None = None
    calls: int = 1

    @property
    def median_us(self) -> float | None:
        """Median latency of a call in microseconds; None where it was not timed."""
        return median(self.times_ns) / self.calls / _NS_PER_US if self.times_ns else None

    @property
    def iqr_frac(self) -> float | None:
        """Interquartile range of the latencies over their median; None where not timed, or where the median is 0."""
        return iqr_frac(self.times_ns) if self.times_ns else None

    @property
    def device_us(self) -> float | None:
        """Median time of the device in microseconds; None where there is none or it was not timed."""
        return median(self.device_ns) / _NS_PER_US if self.device_ns else None


def time_interleaved(
    subjects: Sequence[Subject], config: TimerConfig, clock: Clock, device: DeviceClock | None = None
) -> dict[str, Measurement]:
    """Return the measurement of each subject by name, in the order given.

    Each is warmed up, which also tells how many calls make a trial. Then rounds of one block per subject, in an order
    shuffled anew, until all have their trials: an attempt. While a subject has no attempt within the bound, all are
    timed again after a wait. A subject's exception (from `prepare`, its call, or the device meanwhile) ends that
    subject alone; what is no `Exception` rises. On a device each trial prepares and calls twice. Raises `ValueError`
    where two subjects have one name, or where the clock runs backwards.
    """
    names = [subject.name for subject in subjects]
    if len(set(names)) < len(names):
        raise ValueError(f"subjects must have names of their own, not {', '.join(names)}")
    with _restored_collector():
        return _Session(subjects, config, clock, device).run()


@dataclass(slots=True)
class _Attempt:
    times_ns: list[int] = field(default_factory=list[int])
    device_ns: list[int] = field(default_factory=list[int])
    blocks: list[int] = field(default_factory=list[int])
    spread: float = math.inf  # unknown counts as the worst


class _Session:
    """One call of `time_interleaved`; `_live` are the subjects that have not raised."""

    def __init__(
        self, subjects: Sequence[Subject], config: TimerConfig, clock: Clock, device: DeviceClock | None
    ) -> None:
        self._subjects, self._live = subjects, list(subjects)
        self._config, self._clock, self._device = config, clock, device
        self._rng = random.Random(config.seed)
        self._best: dict[str, _Attempt] = {}
        self._errors: dict[str, Exception] = {}
        self._calls = dict.fromkeys([subject.name for subject in subjects], 1)
        self._num_begun = dict.fromkeys([subject.name for subject in subjects], 0)

    def run(self) -> dict[str, Measurement]:
        for subject in self._subjects:
            warmed_up = _Attempt()
            self._run_block(subject, self._config.warmup, warmed_up)
            self._calls[subject.name] = self._calls_for(subject, warmed_up.times_ns)
        for number in range(self._config.max_attempts):
            if number:
                self._clock.sleep(self._config.wait_seconds * 2 ** (number - 1))
            self._run_attempt()
            if not self._is_unsteady():
                break
        return {subject.name: self._measurement(subject.name) for subject in self._subjects}

    def _calls_for(self, subject: Subject, times_ns: Sequence[int]) -> int:
        """Return how many calls make a trial of a subject, by the later half of its warm-up."""
        usual = median(times_ns[len(times_ns) // 2 :]) if times_ns else 0
        if self._device is not None or not usual:
            return 1
        return max(min(math.ceil(self._config.trial_us * _NS_PER_US / usual), subject.max_calls), 1)

    def _run_attempt(self) -> None:
        attempts = {subject.name: _Attempt() for subject in self._live}
        for name in attempts:
            self._num_begun[name] += 1
        num_blocks = 0
        for start in range(0, self._config.trials, self._config.block):
            order = list(self._live)
            self._rng.shuffle(order)
            for place, subject in enumerate(order, num_blocks):
                attempts[subject.name].blocks.append(place)
                self._run_block(subject, min(self._config.block, self._config.trials - start), attempts[subject.name])
            num_blocks += len(order)
        for subject in self._live:
            self._keep_steadiest(subject.name, attempts[subject.name])

    def _keep_steadiest(self, name: str, attempt: _Attempt) -> None:
        spread = iqr_frac(attempt.times_ns)
        attempt.spread = math.inf if spread is None else spread
        if name not in self._best or attempt.spread < self._best[name].spread:
            self._best[name] = attempt

    def _is_unsteady(self) -> bool:
        """Tell whether a subject's best attempt so far is still above the bound."""
        return any(self._best[subject.name].spread > self._config.max_iqr_frac for subject in self._live)

    def _run_block(self, subject: Subject, size: int, attempt: _Attempt) -> None:
        try:
            subject.begin_block()
            for _ in range(size):
                self._run_trial(subject, attempt)
        except Exception as error:  # foreign code: what it raises is what is found out about the subject
            log.debug("%s raised", subject.name, exc_info=error)
            _drop_tracebacks(error)
            self._errors[subject.name] = error
            self._live.remove(subject)
        gc.collect(_YOUNG)

    def _run_trial(self, subject: Subject, attempt: _Attempt) -> None:
        gc.disable()  # again before each trial: foreign code may switch it on
        now, device = self._clock.now_ns, self._device
        calls = [subject.prepare() for _ in range(self._calls[subject.name])]
        if device is None:
            start = now()
            for call in calls:
                call()
            stop = now()
            attempt.times_ns.append(stop - start)
            return
        call = calls.pop()
        device.before_trial()
        device.synchronize()
        start = now()
        call()
        device.synchronize()
        stop = now()
        attempt.times_ns.append(stop - start)
        del call  # and its operands, before the next are made
        attempt.device_ns.append(_time_on_device(subject, device))

    def _measurement(self, name: str) -> Measurement:
        num_begun, error = self._num_begun[name], self._errors.get(name)
        if error is not None:
            return Measurement((), None, num_begun, (), None, error)
        best = self._best[name]
        device_ns = None if self._device is None else tuple(best.device_ns)
        stable = best.spread <= self._config.max_iqr_frac
        return Measurement(
            tuple(best.times_ns), device_ns, num_begun, tuple(best.blocks), stable, calls=self._calls[name]
        )


def _time_on_device(subject: Subject, device: DeviceClock) -> int:
    call = subject.prepare()
    device.before_trial()
    device.synchronize()
    device.start()
    call()
    return device.stop()


def _drop_tracebacks(error: BaseException) -> None:
    """Let go of the frames that an exception and its causes went through; they hold operands and results."""
    waiting: list[BaseException | None] = [error]
    met: set[int] = set()
    while waiting:
        one = waiting.pop()
        if one is not None and id(one) not in met:
            met.add(id(one))
            one.__traceback__ = None
            waiting += [one.__cause__, one.__context__]


@contextmanager
def _restored_collector() -> Generator[None]:
    """Restore the collector to what it was, at the end; trials switch it off."""
    was_enabled = gc.isenabled()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
        else:
            gc.disable()
