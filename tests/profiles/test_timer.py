"""The timer on a scripted clock: what is timed and what is not, interleaving, attempts, exceptions, devices."""

from __future__ import annotations

import gc
import random
import time
import weakref
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace

import pytest

from profiles.clock import HostClock
from profiles.timer import Measurement, Subject, TimerConfig, time_interleaved

QUICK = TimerConfig(warmup=2, trials=6, block=2)


@dataclass
class ScriptedClock:
    """Stands still but for what subjects and devices say that they take."""

    time_ns: int = 0
    waits: list[float] = field(default_factory=list)

    def now_ns(self) -> int:
        return self.time_ns

    def sleep(self, seconds: float) -> None:
        self.waits.append(seconds)


@dataclass
class Script:
    """A subject whose calls take the scripted times, the last of them for ever; `events` records who was called."""

    clock: ScriptedClock
    name: str
    times: Sequence[int]
    events: list[str]
    raise_at: int | None = None
    num_calls: int = 0

    def prepare(self) -> Callable[[], object]:
        self.clock.time_ns += 1_000_000  # untimed
        return self.call

    def call(self) -> None:
        number, self.num_calls = self.num_calls, self.num_calls + 1
        if number == self.raise_at:
            raise ArithmeticError(f"trial {number}")
        self.events.append(self.name)
        self.clock.time_ns += self.times[min(number, len(self.times) - 1)]


class Stage:
    """Subjects by name on one clock."""

    def __init__(self, raise_at: dict[str, int] | None = None, **times: Sequence[int]) -> None:
        self.clock, self.events = ScriptedClock(), list[str]()
        raise_at = raise_at or {}
        self.scripts = {
            name: Script(self.clock, name, series, self.events, raise_at.get(name)) for name, series in times.items()
        }

    def run(self, config: TimerConfig = QUICK) -> dict[str, Measurement]:
        subjects = [Subject(name, script.prepare) for name, script in self.scripts.items()]
        return time_interleaved(subjects, config, self.clock)


def noisy(low: int, high: int, size: int) -> list[int]:
    """Half low, half high, in turns: the quartiles are the two."""
    return [low, high] * (size // 2)


def replayed_order(names: Sequence[str], seed: int, num_rounds: int) -> list[str]:
    """The order of blocks that a seed stands for."""
    rng, order = random.Random(seed), list[str]()
    for _ in range(num_rounds):
        shuffled = list(names)
        rng.shuffle(shuffled)
        order += shuffled
    return order


def test_the_defaults_are_the_papers() -> None:
    config = TimerConfig()
    assert (config.warmup, config.trials, config.max_iqr_frac) == (20, 100, 0.2)
    assert (config.block, config.max_attempts, config.wait_seconds, config.seed) == (10, 5, 0.05, 0)
    assert config.trial_us == 1000.0


def test_warmups_and_preparation_are_not_timed() -> None:
    stage = Stage(eager=[9_000, 9_000, 1_000, 1_100, 1_200, 1_300, 1_400, 1_500])
    (measured,) = stage.run().values()
    assert measured.times_ns == (1_000, 1_100, 1_200, 1_300, 1_400, 1_500)
    assert measured.median_us == 1.25
    assert measured.iqr_frac == 250 / 1250
    assert (measured.attempts, measured.blocks, measured.stable) == (1, (0, 1, 2), True)
    assert (measured.device_ns, measured.device_us, measured.error) == (None, None, None)


def run_short(config: TimerConfig, max_calls: int, **times: Sequence[int]) -> tuple[Stage, dict[str, Measurement]]:
    """Time subjects of which `max_calls` calls may be prepared at once; blocks begin as events too."""
    stage = Stage(**times)
    subjects = [
        Subject(name, script.prepare, max_calls, lambda: stage.events.append("begin"))
        for name, script in stage.scripts.items()
    ]
    return stage, time_interleaved(subjects, config, stage.clock)


@pytest.mark.parametrize(
    ("microseconds", "max_calls", "calls"),
    [(10.0, 32, 4), (40.0, 32, 1), (39.0, 32, 2), (1.0, 32, 32), (1.0, 5, 5), (1.0, 1, 1), (500.0, 32, 1)],
)
def test_a_trial_has_as_many_calls_as_make_it_long_enough(microseconds: float, max_calls: int, calls: int) -> None:
    config = replace(QUICK, trial_us=40.0)
    stage, measured = run_short(config, max_calls, a=[int(microseconds * 1000)])
    assert (measured["a"].calls, measured["a"].median_us) == (calls, microseconds)
    assert measured["a"].times_ns == (int(microseconds * 1000) * calls,) * 6
    assert stage.events.count("a") == 2 + 6 * calls


def test_calls_of_a_trial_go_by_the_later_half_of_the_warm_up() -> None:
    config = replace(QUICK, warmup=4, trial_us=10.0)
    _, measured = run_short(config, 32, a=[9_000_000, 9_000_000, 1_000, 1_000, 2_000])
    assert (measured["a"].calls, measured["a"].times_ns) == (10, (20_000,) * 6)
    _, measured = run_short(replace(config, warmup=0), 32, a=[1_000])
    assert measured["a"].calls == 1


def test_every_call_of_a_trial_is_prepared_before_the_clock_is_read() -> None:
    _, measured = run_short(replace(QUICK, trial_us=3.0), 32, a=[1_000])  # preparing takes 1,000,000 ns each
    assert measured["a"].times_ns == (3_000,) * 6


def test_each_block_begins_once_before_its_trials() -> None:
    stage, _ = run_short(replace(QUICK, trial_us=2.0), 32, a=[1_000])
    assert stage.events == ["begin", "a", "a"] + ["begin", *"aaaa"] * 3


def test_every_subject_is_warmed_up_before_any_is_timed() -> None:
    stage = Stage(eager=[100], inductor=[50])
    stage.run()
    assert stage.events[:4] == ["eager", "eager", "inductor", "inductor"]
    assert len(stage.events) == 4 + 12


@pytest.mark.parametrize("seed", range(5))
def test_blocks_are_in_an_order_shuffled_by_the_seed_and_recorded(seed: int) -> None:
    stage = Stage(a=[1], b=[2], c=[3])
    measured = stage.run(replace(QUICK, seed=seed, warmup=0))
    order = replayed_order(["a", "b", "c"], seed, 3)
    assert stage.events == [name for name in order for _ in range(2)]
    for name, measurement in measured.items():
        assert measurement.blocks == tuple([place for place, who in enumerate(order) if who == name])
    assert list(measured) == ["a", "b", "c"]


def test_the_order_differs_between_rounds_attempts_and_seeds() -> None:
    def order(seed: int) -> str:
        stage = Stage(a=noisy(10, 99, 500), b=[2])
        stage.run(TimerConfig(warmup=0, trials=20, block=1, max_attempts=2, seed=seed))
        return "".join(stage.events)

    first, again, other = order(1), order(1), order(2)
    assert first == again != other
    rounds = {first[start : start + 2] for start in range(0, len(first), 2)}
    assert rounds == {"ab", "ba"}
    assert first[:40] != first[40:]


def test_the_last_block_is_shorter_where_trials_are_no_multiple() -> None:
    stage = Stage(a=[1], b=[2])
    measured = stage.run(TimerConfig(warmup=0, trials=7, block=3))
    assert [len(m.times_ns) for m in measured.values()] == [7, 7]
    assert [len(m.blocks) for m in measured.values()] == [3, 3]
    stage = Stage(a=[1])
    assert stage.run(TimerConfig(warmup=0, trials=2, block=10))["a"].times_ns == (1, 1)


def test_a_noisy_subject_is_timed_again_together_with_the_others_after_waits_that_double() -> None:
    stage = Stage(noisy=[*noisy(10, 20, 12), *[15] * 6], calm=[7])
    measured = stage.run(replace(QUICK, warmup=0))
    assert stage.clock.waits == [0.05, 0.1]
    assert measured["noisy"].times_ns == (15,) * 6
    assert (measured["noisy"].attempts, measured["noisy"].stable) == (3, True)
    assert stage.events.count("calm") == 18
    assert measured["calm"].attempts == 3


def test_each_subject_keeps_its_own_steadiest_attempt_and_the_places_of_its_blocks() -> None:
    stage = Stage(a=[*noisy(10, 16, 6), *noisy(10, 14, 6), *noisy(10, 30, 60)], b=[*[5] * 6, 6])
    measured = stage.run(replace(QUICK, warmup=0))
    assert stage.clock.waits == [0.05, 0.1, 0.2, 0.4]
    assert measured["a"].times_ns == (10, 14) * 3
    assert (measured["a"].stable, measured["a"].attempts, measured["a"].error) == (False, 5, None)
    assert measured["b"].times_ns == (5,) * 6  # as steady again later: the first is kept
    order = replayed_order("ab", 0, 6)
    assert measured["b"].blocks == tuple([place for place, who in enumerate(order[:6]) if who == "b"])
    assert measured["a"].blocks == tuple([place for place, who in enumerate(order[6:]) if who == "a"])


def test_attempts_end_when_each_subject_has_a_steady_one() -> None:
    stage = Stage(a=[*noisy(10, 20, 6), 10], b=[*[5] * 6, *noisy(5, 10, 60)])
    measured = stage.run(replace(QUICK, warmup=0))
    assert [m.attempts for m in measured.values()] == [2, 2]
    assert [m.stable for m in measured.values()] == [True, True]


def test_a_spread_at_the_bound_is_steady() -> None:
    stage = Stage(a=noisy(9, 11, 6))
    measured = stage.run(replace(QUICK, warmup=0))["a"]
    assert (measured.iqr_frac, measured.stable, measured.attempts) == (0.2, True, 1)


@pytest.mark.parametrize(
    ("raise_at", "attempts"), [(0, 0), (19, 0), (20, 1), (20 + 57, 1), (20 + 99, 1), (20 + 100, 2), (20 + 157, 2)]
)
def test_a_subject_that_raises_ends_alone(raise_at: int, attempts: int) -> None:
    """In a warm-up, in trial 57 of the first attempt, in the second attempt, which the noise of another asks for."""
    stage = Stage({"bad": raise_at}, bad=[3], noisy=[*[0] * 20, *noisy(10, 20, 100), 30], calm=[5])
    measured = stage.run(TimerConfig())
    bad = measured["bad"]
    assert repr(bad.error) == repr(ArithmeticError(f"trial {raise_at}"))
    assert (bad.times_ns, bad.blocks, bad.device_ns, bad.attempts, bad.stable) == ((), (), None, attempts, None)
    assert (bad.median_us, bad.iqr_frac, bad.device_us) == (None, None, None)
    assert measured["noisy"].times_ns == (30,) * 100
    assert measured["calm"].times_ns == (5,) * 100
    assert stage.scripts["bad"].num_calls == raise_at + 1


def test_places_of_blocks_have_no_gap_where_a_subject_is_gone() -> None:
    stage = Stage({"bad": 2}, bad=[1], good=[1])
    measured = stage.run(TimerConfig(warmup=0, trials=8, block=2))
    together = replayed_order(["bad", "good"], 0, 2)  # the second block of the bad one raises
    places = [place for place, who in enumerate(together) if who == "good"]
    assert measured["good"].blocks == (*places, 4, 5)


def test_where_all_raise_nothing_is_timed() -> None:
    stage = Stage({"a": 0, "b": 3}, a=[1], b=[1])
    measured = stage.run()
    assert [m.error is not None for m in measured.values()] == [True, True]
    assert [m.attempts for m in measured.values()] == [0, 1]
    assert stage.clock.waits == []


def test_a_preparation_that_raises_ends_its_subject() -> None:
    def prepare() -> Callable[[], object]:
        raise MemoryError("no room for operands")

    clock = ScriptedClock()
    measured = time_interleaved([Subject("a", prepare)], QUICK, clock)["a"]
    assert isinstance(measured.error, MemoryError)


def test_an_interruption_rises_and_the_collector_is_as_before() -> None:
    def prepare() -> Callable[[], object]:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        time_interleaved([Subject("a", prepare)], QUICK, ScriptedClock())
    assert gc.isenabled()


class Held:
    """Something that can be watched."""


def test_operands_of_a_subject_that_raised_are_let_go() -> None:
    watched: list[weakref.ref[Held]] = []

    def deep(operand: Held) -> None:
        intermediate = Held()
        watched.extend([weakref.ref(operand), weakref.ref(intermediate)])
        try:
            raise KeyError("inner")
        except KeyError as error:
            raise ArithmeticError("outer") from error

    def prepare() -> Callable[[], object]:
        operand = Held()
        return lambda: deep(operand)

    measured = time_interleaved([Subject("a", prepare)], QUICK, ScriptedClock())["a"]
    assert isinstance(measured.error, ArithmeticError)
    assert len(watched) == 2
    assert [watch() for watch in watched] == [None, None]


def test_what_a_call_returns_is_let_go_within_its_time() -> None:
    clock = ScriptedClock()

    class Output:
        def __del__(self) -> None:
            clock.time_ns += 7

    measured = time_interleaved([Subject("a", lambda: Output)], QUICK, clock)["a"]
    assert measured.times_ns == (7,) * 6


def test_a_clock_that_stands_still_is_not_stable_and_no_failure() -> None:
    stage = Stage(a=[0], b=[5])
    measured = stage.run()
    assert (measured["a"].median_us, measured["a"].iqr_frac) == (0.0, None)
    assert (measured["a"].stable, measured["a"].error, measured["a"].attempts) == (False, None, 5)
    assert measured["b"].stable is True


def test_a_clock_that_runs_backwards_is_nobodys_timing() -> None:
    with pytest.raises(ValueError, match="negative, the least is -4"):
        Stage(a=[*[5] * 4, -4, 5]).run()
    assert gc.isenabled()


@pytest.fixture
def collector() -> Iterator[None]:
    yield
    gc.enable()


@pytest.mark.usefixtures("collector")
@pytest.mark.parametrize("was_enabled", [True, False])
def test_the_collector_is_off_in_each_trial_and_then_as_before(was_enabled: bool) -> None:
    seen: list[bool] = []

    def call() -> None:
        seen.append(gc.isenabled())
        gc.enable()  # as foreign code may

    (gc.enable if was_enabled else gc.disable)()
    time_interleaved([Subject("a", lambda: call)], QUICK, ScriptedClock())
    assert gc.isenabled() is was_enabled
    assert seen == [False] * len(seen) and len(seen) == 2 + 6 * 5  # a clock that stands still: all attempts


def test_cycles_are_collected_between_blocks_not_within() -> None:
    watched: list[weakref.ref[Held]] = []
    alive: list[int] = []

    def call() -> None:
        alive.append(sum(watch() is not None for watch in watched))
        held = Held()
        held.itself = held  # type: ignore[attr-defined]
        watched.append(weakref.ref(held))

    time_interleaved([Subject("a", lambda: call)], replace(QUICK, max_attempts=1), ScriptedClock())
    assert alive == [0, 1] * 4


@pytest.mark.parametrize(
    ("field_name", "value", "says"),
    [
        ("trials", 0, "trials must be at least 1, not 0"),
        ("warmup", -1, "warmup must be at least 0, not -1"),
        ("block", 0, "block must be at least 1, not 0"),
        ("max_attempts", 0, "max_attempts must be at least 1, not 0"),
        ("max_iqr_frac", -0.1, "max_iqr_frac must be finite and not negative"),
        ("max_iqr_frac", float("nan"), "max_iqr_frac must be finite and not negative"),
        ("wait_seconds", float("inf"), "wait_seconds must be finite and not negative"),
    ],
)
def test_a_config_that_times_nothing_is_refused(field_name: str, value: float, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        replace(TimerConfig(), **{field_name: value})


def test_two_subjects_of_one_name_are_refused() -> None:
    subject = Subject("a", lambda: lambda: None)
    with pytest.raises(ValueError, match="names of their own, not a, a"):
        time_interleaved([subject, subject], QUICK, ScriptedClock())


def test_no_subjects_have_no_measurements() -> None:
    assert time_interleaved([], QUICK, ScriptedClock()) == {}


@dataclass
class ScriptedDevice:
    """Works 400 ns on each call, of which the host sees nothing before it synchronizes; a flush takes 5,000."""

    clock: ScriptedClock
    events: list[str] = field(default_factory=list)
    queued_ns: int = 0
    fail_at: int | None = None
    started_ns: int = 0
    num_synchronized: int = 0

    def before_trial(self) -> None:
        self.events.append("flush")
        self.queued_ns += 5_000

    def synchronize(self) -> None:
        self.events.append("synchronize")
        self.num_synchronized += 1
        if self.num_synchronized == self.fail_at:
            raise RuntimeError("CUDA error: an illegal memory access was encountered")
        self.clock.time_ns += self.queued_ns
        self.queued_ns = 0

    def start(self) -> None:
        self.events.append("start")
        self.queued_ns = 0

    def stop(self) -> int:
        self.events.append("stop")
        took, self.queued_ns = self.queued_ns, 0
        return took


def on_device(device: ScriptedDevice, config: TimerConfig, *names: str) -> dict[str, Measurement]:
    def call() -> None:
        device.events.append("call")
        device.clock.time_ns += 30  # on the host
        device.queued_ns += 400

    def prepare() -> Callable[[], object]:
        device.events.append("prepare")
        return call

    return time_interleaved([Subject(name, prepare) for name in names], config, device.clock, device)


def test_on_a_device_latency_ends_when_it_is_done_and_flushes_are_outside() -> None:
    device = ScriptedDevice(ScriptedClock())
    measured = on_device(device, replace(QUICK, warmup=1), "a")["a"]
    assert measured.times_ns == (430,) * 6
    assert measured.device_ns == (400,) * 6
    assert (measured.median_us, measured.device_us) == (0.43, 0.4)
    by_the_host = ["prepare", "flush", "synchronize", "call", "synchronize"]
    by_the_device = ["prepare", "flush", "synchronize", "start", "call", "stop"]
    assert device.events == (by_the_host + by_the_device) * 7


def test_an_error_that_shows_when_the_device_synchronizes_is_the_subjects() -> None:
    device = ScriptedDevice(ScriptedClock(), fail_at=2)
    measured = on_device(device, QUICK, "bad", "good")
    assert "illegal memory access" in str(measured["bad"].error)
    assert measured["good"].device_ns == (400,) * 6
    assert measured["bad"].device_ns is None


def test_the_host_clock_is_bound_when_it_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = HostClock()
    monkeypatch.setattr(time, "perf_counter_ns", lambda: -1)
    monkeypatch.setattr(time, "sleep", lambda seconds: pytest.fail("slept elsewhere"))
    before = clock.now_ns()
    clock.sleep(0.0)
    assert 0 <= before <= clock.now_ns()


def test_real_calls_are_timed_on_the_host_clock() -> None:
    measured = time_interleaved([Subject("a", lambda: lambda: sum(range(100)))], QUICK, HostClock())["a"]
    assert measured.error is None
    assert len(measured.times_ns) == 6 and min(measured.times_ns) > 0
