"""An instance's program to its timings: each backend built, compared with eager, and timed beside the others.

Everything here runs foreign code: call it in a process that may die. Eager mode and the backends are timed in turns in
one process, on the same operands, drawn by seed as everywhere (`profiles.instance_run`). A backend that fails has its
status and costs the others nothing; where eager mode fails, so do all, for its reason.
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import torch
from torch import fx
from torch._dynamo.utils import counters

from extract.graph import Graph
from extract.recorded_outputs import record_outputs
from profiles.backends import Backend, Runner, find_missing
from profiles.clock import Clock, DeviceClock
from profiles.comparison import Comparison, compare, has_nan
from profiles.instance_run import instance_recipe, make_operands
from profiles.kernels.called import count_calls, noting_wrappers
from profiles.kernels.profiler import launches_of
from profiles.kernels.program import module_of
from profiles.operand_pool import OperandPool, copy_operands, move_operands
from profiles.timer import Measurement, Subject, TimerConfig, time_interleaved
from profiles.timing import EAGER, Cache, Status
from profiles.trial_calls import TrialCalls

log = logging.getLogger(__name__)
_DETAIL_CHARS = 500
_FEWEST_TRIALS = 20
_NS = 1e9
_STARVED = ("can't allocate memory", "not enough memory", "Cannot allocate memory", "out of memory", "bad_alloc")


@dataclass(frozen=True, slots=True)
class ProfileConfig:
    """How instances are timed; `cache_bytes` is the last-level cache that cold operands are kept out of, `seed` draws
    operands and whatever is random in a program.

    An attempt that would take longer than `attempt_seconds` has fewer trials, 20 at least: what takes a tenth of a
    second needs no hundred trials for its median. Ours; a Timing says how many there were.
    """

    timer: TimerConfig = field(default_factory=TimerConfig)
    cache: Cache = "cold"
    cache_bytes: int | None = None
    seed: int = 0
    attempt_seconds: float = 5.0


@dataclass(slots=True)
class BackendProfile:
    """What one backend gave: `status` and the measures as in `profiles.timing.Timing`."""

    backend: str
    status: Status = Status.OK
    detail: str | None = None
    compile_s: float | None = None
    num_kernels: int | None = None
    graph_breaks: int | None = None
    recompiles: int | None = None
    mutates_inputs: bool | None = None
    comparison: Comparison | None = None
    measurement: Measurement | None = None
    warmup: int = 0
    repeats: int = 0
    seconds: float = 0.0


class DeviceLost(Exception):
    """The device is in no state to go on: this process must end."""


def profile_instance(
    graph: Graph,
    backends: Sequence[Backend],
    device: torch.device,
    config: ProfileConfig,
    clock: Clock,
    device_clock: DeviceClock | None = None,
) -> list[BackendProfile]:
    """Time a program under each backend, the first of which is eager mode, and return what each gave, in order.

    `device_clock` is that of a GPU. Raises `DeviceLost`, and whatever drawing the operands raises.
    """
    operands = move_operands(make_operands(graph, instance_recipe(graph, config.seed)), device)
    with torch.no_grad():
        torch.compiler.reset()
        try:
            trials = _Trials(module_of(record_outputs(graph), str(device)), operands, device, config, clock)
            return trials.profile(backends, device_clock)
        finally:
            torch.compiler.reset()


class _Trials:
    """One program on its operands: what eager mode returns and writes, and the runners that are to be timed."""

    def __init__(
        self,
        module: fx.GraphModule,
        operands: list[torch.Tensor],
        device: torch.device,
        config: ProfileConfig,
        clock: Clock,
    ) -> None:
        self._module, self._operands, self._device, self._config = module, operands, device, config
        self._clock = clock
        self._runners: dict[str, Runner] = {}
        self._written: tuple[int, ...] = ()
        self._written_by_any: set[int] = set()
        self._expected: Any = None

    def profile(self, backends: Sequence[Backend], device_clock: DeviceClock | None) -> list[BackendProfile]:
        """Prepare each backend, and time together those that run."""
        profiles = [BackendProfile(backend.name) for backend in backends]
        for backend, profile in zip(backends, profiles, strict=True):
            with _adding_seconds([profile], self._now_ns):
                self._prepare(backend, profile)
            if EAGER not in self._runners:
                return [_like_eager(profiles[0], backend.name) for backend in backends]
        running = [profile for profile in profiles if profile.backend in self._runners]
        with _adding_seconds(running, self._now_ns):
            self._time(running, device_clock)
        return profiles

    def _prepare(self, backend: Backend, profile: BackendProfile) -> None:
        """Build a backend, run it once, and compare what it returns and writes with eager mode's."""
        missing = find_missing(backend, self._device.type)
        if missing is not None:
            profile.status, profile.detail = Status.UNAVAILABLE, missing
            return
        operands = copy_operands(self._operands)
        num_breaks, started = _num_breaks(), self._now_ns()
        try:
            runner = backend.build(self._module, operands)
            outputs, wrappers = self._run_once(runner, operands)
        except Exception as error:  # foreign code
            self._check_device()
            _explain(profile, error, Status.RAISED if backend.name == EAGER else Status.COMPILE_FAILED)
            return
        seconds = (self._now_ns() - started) / _NS
        self._runners[backend.name] = runner
        written = _written(self._operands, operands)
        profile.mutates_inputs = bool(written)
        self._written_by_any.update(written)
        if backend.name == EAGER:
            self._written, self._expected = written, (outputs, [operands[index] for index in written])
            if has_nan(self._expected):
                profile.status, profile.detail = Status.NOT_FINITE, "NaN in eager mode"
            return
        profile.compile_s = seconds
        profile.graph_breaks = _num_breaks() - num_breaks
        if wrappers and self._device.type == "cpu":
            profile.num_kernels = count_calls(wrappers)
        self._compare(profile, (outputs, [operands[index] for index in self._written]))

    def _time(self, profiles: Sequence[BackendProfile], device_clock: DeviceClock | None) -> None:
        """Time the runners of these profiles in turns."""
        config = self._config
        written = sorted(self._written_by_any)
        pool = OperandPool(self._operands, written, config.cache, config.cache_bytes, config.timer.block)
        calls = TrialCalls(pool)
        subjects = [calls.subject(profile.backend, self._runners[profile.backend]) for profile in profiles]
        timer = self._bounded(subjects)
        measured = time_interleaved(subjects, timer, self._clock, device_clock)
        self._check_device()
        for profile in profiles:
            measurement = measured[profile.backend]
            profile.warmup, profile.repeats = timer.warmup, len(measurement.times_ns)
            if measurement.error is not None:
                _explain(profile, measurement.error, Status.RAISED)
                continue
            profile.measurement = measurement
            self._count_recompiles(profile, calls, 1 + timer.warmup * (1 if device_clock is None else 2))
            if self._device.type == "cuda":
                self._count_launches(profile, pool)

    def _bounded(self, subjects: Sequence[Subject]) -> TimerConfig:
        """Return the timer's config with as many trials as an attempt has time for."""
        timer, started = self._config.timer, self._now_ns()
        for subject in subjects:
            with contextlib.suppress(Exception):  # foreign code; the timer meets it again and says so
                subject.prepare()()
        one_each = max((self._now_ns() - started) / _NS, 1 / _NS)
        trials = max(min(timer.trials, int(self._config.attempt_seconds / one_each)), min(timer.trials, _FEWEST_TRIALS))
        return replace(timer, trials=trials, warmup=min(timer.warmup, max(trials // 5, 1)))

    def _run_once(self, runner: Runner, operands: Sequence[torch.Tensor]) -> tuple[Any, list[str]]:
        """Return the outputs of the first run, and the wrappers that Inductor wrote for it."""
        torch.manual_seed(self._config.seed)
        with noting_wrappers() as wrappers:
            outputs = runner(*operands)
        if self._device.type == "cuda":
            torch.cuda.synchronize(self._device)
        return outputs, wrappers

    def _compare(self, profile: BackendProfile, got: Any) -> None:
        try:
            compared = compare(self._expected, got)
        except TypeError as error:
            profile.status, profile.detail = Status.OUTPUTS_DIFFER, str(error)
            return
        profile.comparison = compared
        if compared.reason is not None:
            profile.status, profile.detail = Status.OUTPUTS_DIFFER, compared.reason
        elif (compared.has_nan and not has_nan(self._expected)) or compared.has_new_inf:
            profile.status, profile.detail = Status.NOT_FINITE, "NaN or Inf where eager mode is finite"

    def _count_recompiles(self, profile: BackendProfile, calls: TrialCalls, num_untimed: int) -> None:
        if profile.backend == EAGER:
            return
        profile.recompiles = calls.num_compiled(profile.backend)
        if profile.status is Status.OK and calls.is_recompiled(profile.backend, num_untimed):
            profile.status = Status.RECOMPILES
            profile.detail = f"compiled {profile.recompiles} times by calls like the first"

    def _count_launches(self, profile: BackendProfile, pool: OperandPool) -> None:
        call = partial(self._runners[profile.backend], *pool.take())
        try:
            profile.num_kernels = launches_of(call, self._device).num_kernels
        except Exception as error:  # foreign code: what was timed stands, its kernels are not counted
            log.debug("%s: kernels not counted", profile.backend, exc_info=error)
            self._check_device()

    @property
    def _now_ns(self) -> Callable[[], int]:
        """The clock's: foreign code may have replaced those of module `time`."""
        return self._clock.now_ns

    def _check_device(self) -> None:
        """Raise `DeviceLost` where a kernel left the GPU unusable."""
        if self._device.type == "cuda":
            try:
                torch.cuda.synchronize(self._device)
            except RuntimeError as error:
                raise DeviceLost(str(error)) from error


def _written(before: Sequence[torch.Tensor], after: Sequence[torch.Tensor]) -> tuple[int, ...]:
    """Return which operands a run changed."""
    pairs = enumerate(zip(before, after, strict=True))
    return tuple(index for index, (old, new) in pairs if not compare(old, new).bitwise_equal)


def _like_eager(eager: BackendProfile, backend: str) -> BackendProfile:
    """Return what becomes of a backend where eager mode fails: there is nothing to compare it with."""
    if backend == eager.backend:
        return eager
    return BackendProfile(backend, eager.status, f"eager mode: {eager.detail}")


def _explain(profile: BackendProfile, error: Exception, status: Status) -> None:
    """Say why a backend is not timed; on a CPU memory that ran out is known by what torch says."""
    said = " ".join(f"{type(error).__name__}: {error}".split())[:_DETAIL_CHARS]
    starved = isinstance(error, torch.OutOfMemoryError | MemoryError) or any(word in said for word in _STARVED)
    profile.status, profile.detail = Status.OUT_OF_MEMORY if starved else status, said


def _num_breaks() -> int:
    return sum(counters["graph_break"].values())


@contextlib.contextmanager
def _adding_seconds(profiles: Sequence[BackendProfile], now_ns: Callable[[], int]) -> Iterator[None]:
    """Share the time that passes within among profiles."""
    started = now_ns()
    try:
        yield
    finally:
        for profile in profiles:
            profile.seconds += (now_ns() - started) / _NS / len(profiles)
