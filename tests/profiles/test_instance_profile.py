"""Programs timed under backends in this process, on a scripted clock: statuses, comparisons, and who is to blame."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
import torch
from torch import fx

from extract.graph import Graph, Node, OpRef, TensorMeta, TensorRef
from profiles.backends import Backend, Runner, find_backends
from profiles.instance_profile import BackendProfile, ProfileConfig, profile_instance
from profiles.timer import TimerConfig
from profiles.timing import Status

CPU = torch.device("cpu")
CONFIG = ProfileConfig(TimerConfig(warmup=2, trials=6, block=2, trial_us=0.0), cache_bytes=1 << 12)
X = TensorMeta("x", "input", "x", (2, 4), (4, 1), "float32")
Call = Callable[[Runner, Sequence[torch.Tensor]], Any]


@dataclass
class TickingClock:
    """Each reading is a microsecond after the last: what is timed takes one."""

    time_ns: int = 0
    waits: list[float] = field(default_factory=list[float])

    def now_ns(self) -> int:
        self.time_ns += 1_000
        return self.time_ns

    def sleep(self, seconds: float) -> None:
        self.waits.append(seconds)


def graph(*calls: tuple[Any, ...], tensors: tuple[TensorMeta, ...] = (X,), outputs: tuple[Any, ...] = ()) -> Graph:
    nodes = tuple([Node(target.rpartition(".")[2], target, tuple(args)) for target, *args in calls])
    return Graph(nodes, tensors, outputs or (OpRef(len(nodes) - 1),))


RELU = graph(("torch.relu", TensorRef(0)))
TRIPLED = graph(("torch.Tensor.mul_", TensorRef(0), 3.0))
WIDENED = graph(("torch.Tensor.unsqueeze_", TensorRef(0), 0))
NOT_A_NUMBER = graph(("torch.sub", TensorRef(0), TensorRef(0)), ("torch.div", OpRef(0), OpRef(0)))
RANDOM = graph(("torch.rand_like", TensorRef(0)))


def backend(call: Call, name: str = "other") -> Backend:
    """A backend that calls eager mode's runner as told."""

    def build(module: fx.GraphModule, operands: Sequence[torch.Tensor]) -> Runner:
        return lambda *operands: call(module.forward, operands)

    return Backend(name, "nothing", lambda device: None, build)


def profiled(program: Graph, *others: Backend, config: ProfileConfig = CONFIG) -> list[BackendProfile]:
    return profile_instance(program, [find_backends()["eager"], *others], CPU, config, TickingClock())


def alike(run: Runner, operands: Sequence[torch.Tensor]) -> Any:
    return run(*operands)


def test_a_backend_like_eager_has_its_times_and_no_difference() -> None:
    eager, other = profiled(RELU, backend(alike))
    for profile in (eager, other):
        assert (profile.status, profile.detail, profile.mutates_inputs) == (Status.OK, None, False)
        assert profile.measurement is not None
        assert profile.measurement.times_ns == (1_000,) * 6
        assert (profile.warmup, profile.repeats, profile.measurement.attempts) == (1, 6, 1)
        assert profile.seconds > 0
    assert (eager.comparison, eager.compile_s, eager.recompiles, eager.graph_breaks) == (None, None, None, None)
    assert other.comparison is not None and other.comparison.bitwise_equal
    assert (other.compile_s, other.recompiles, other.graph_breaks) == (1e-6, 0, 0)
    places = [place for profile in (eager, other) if profile.measurement for place in profile.measurement.blocks]
    assert sorted(places) == list(range(6))


@pytest.mark.parametrize("program", [TRIPLED, WIDENED], ids=["values", "shape"])
@pytest.mark.parametrize("cache", ["cold", "warm"])
def test_what_a_program_writes_does_not_poison_the_next_trial(program: Graph, cache: str) -> None:
    seen: list[torch.Tensor] = []

    def spy(run: Runner, operands: Sequence[torch.Tensor]) -> Any:
        seen.append(operands[0].clone())
        return run(*operands)

    timer = replace(CONFIG.timer, trial_us=4.0)  # four calls a trial, where there are as many copies
    config = replace(CONFIG, timer=timer, cache="cold" if cache == "cold" else "warm")
    eager, other = profiled(program, backend(spy), config=config)
    assert (eager.status, other.status) == (Status.OK, Status.OK)
    assert (eager.mutates_inputs, other.mutates_inputs) == (True, True)
    assert other.comparison is not None and other.comparison.bitwise_equal
    assert other.measurement is not None and other.measurement.calls == (4 if cache == "cold" else 1)
    assert len(seen) == 1 + 1 + 1 + 6 * other.measurement.calls  # compared, bounded, warmed up, timed
    assert all(operand.shape == (2, 4) and torch.equal(operand, seen[0]) for operand in seen)


def test_what_a_backend_alone_writes_poisons_nobody() -> None:
    seen: list[torch.Tensor] = []

    def spy(run: Runner, operands: Sequence[torch.Tensor]) -> Any:
        seen.append(operands[0].clone())
        return run(*operands)

    def overwrite(run: Runner, operands: Sequence[torch.Tensor]) -> Any:
        outputs = run(*operands)
        operands[0].fill_(torch.nan)
        return outputs

    eager, writer, reader = profiled(RELU, backend(overwrite, "writer"), backend(spy, "reader"))
    assert (eager.mutates_inputs, writer.mutates_inputs, reader.mutates_inputs) == (False, True, False)
    assert all(torch.equal(operand, seen[0]) for operand in seen)


def test_what_is_written_otherwise_than_in_eager_mode_is_a_difference() -> None:
    def forget(run: Runner, operands: Sequence[torch.Tensor]) -> Any:
        return run(operands[0].clone())

    _, other = profiled(TRIPLED, backend(forget))
    assert (other.status, other.mutates_inputs) == (Status.OK, False)
    assert other.comparison is not None and not other.comparison.bitwise_equal


def test_nan_in_eager_mode_is_eagers_and_not_the_backends() -> None:
    eager, other = profiled(NOT_A_NUMBER, backend(alike))
    assert (eager.status, eager.detail) == (Status.NOT_FINITE, "NaN in eager mode")
    assert eager.measurement is not None
    assert other.status is Status.OK
    assert other.comparison is not None and other.comparison.bitwise_equal and other.comparison.tolerance_level is None


@pytest.mark.parametrize("value", [torch.nan, torch.inf])
def test_nan_and_inf_where_eager_mode_is_finite(value: float) -> None:
    eager, other = profiled(RELU, backend(lambda run, operands: [run(*operands)[0].fill_(value)]))
    assert eager.status is Status.OK
    assert (other.status, other.detail) == (Status.NOT_FINITE, "NaN or Inf where eager mode is finite")
    assert other.measurement is not None and other.measurement.times_ns


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda outputs: (outputs[0].view(4, 2),), "float32 [4, 2], expected float32 [2, 4]"),
        (lambda outputs: (outputs[0].half(),), "float16 [2, 4], expected float32 [2, 4]"),
        (lambda outputs: (*outputs, outputs[0]), "a sequence of 2"),
        (lambda outputs: None, "expected"),
        (lambda outputs: (object(),), "a object is no output"),
        (lambda outputs: (outputs[0].to("meta"),), "without values"),
    ],
)
def test_outputs_of_another_form_are_timed_and_told(change: Callable[[Any], Any], said: str) -> None:
    eager, other = profiled(RELU, backend(lambda run, operands: change(run(*operands))))
    assert eager.status is Status.OK and eager.measurement is not None
    assert other.status is Status.OUTPUTS_DIFFER
    assert said in (other.detail or "")
    assert other.measurement is not None and other.measurement.times_ns


def test_a_backend_that_cannot_be_built_costs_the_others_nothing() -> None:
    def build(module: fx.GraphModule, operands: Sequence[torch.Tensor]) -> Runner:
        raise NotImplementedError("not\nthis op")

    broken = Backend("broken", "nothing", lambda device: None, build)
    eager, failed, other = profiled(RELU, broken, backend(alike))
    assert (failed.status, failed.detail) == (Status.COMPILE_FAILED, "NotImplementedError: not this op")
    assert (failed.measurement, failed.repeats, failed.compile_s) == (None, 0, None)
    for profile in (eager, other):
        assert profile.status is Status.OK and profile.measurement is not None
        assert len(profile.measurement.times_ns) == 6


def test_a_backend_that_lacks_something_is_unavailable() -> None:
    lacking = Backend("lacking", "a GPU", lambda device: f"no GPU but a {device}", lambda module, operands: print)
    eager, other = profiled(RELU, lacking)
    assert (eager.status, other.status, other.detail) == (Status.OK, Status.UNAVAILABLE, "no GPU but a cpu")


def raising_at(number: int, error: Exception) -> Backend:
    num_calls = 0

    def call(run: Runner, operands: Sequence[torch.Tensor]) -> Any:
        nonlocal num_calls
        num_calls += 1
        if num_calls >= number:
            raise error
        return run(*operands)

    return backend(call)


@pytest.mark.parametrize("number", [2, 3, 1 + 1 + 20 + 57])
def test_a_backend_that_raises_while_timed_has_no_times_and_eager_has(number: int) -> None:
    config = replace(CONFIG, timer=TimerConfig())
    eager, other = profiled(RELU, raising_at(number, ArithmeticError("no more")), config=config)
    assert (other.status, other.detail, other.repeats) == (Status.RAISED, "ArithmeticError: no more", 0)
    assert eager.status is Status.OK and eager.measurement is not None
    assert len(eager.measurement.times_ns) == 100


def test_a_backend_that_is_never_called_again_after_its_trials() -> None:
    _, other = profiled(RELU, raising_at(1 + 1 + 1 + 6 + 1, ArithmeticError()))
    assert other.status is Status.OK


@pytest.mark.parametrize(
    "error",
    [MemoryError(), torch.OutOfMemoryError("CUDA"), RuntimeError("DefaultCPUAllocator: can't allocate memory: 1 TB")],
)
@pytest.mark.parametrize("number", [1, 5])
def test_memory_that_ran_out_is_known_by_what_is_raised(error: Exception, number: int) -> None:
    eager, other = profiled(RELU, raising_at(number, error))
    assert (eager.status, other.status) == (Status.OK, Status.OUT_OF_MEMORY)


def test_where_eager_mode_fails_all_fail_for_its_reason() -> None:
    def fail(*operands: torch.Tensor) -> Any:
        raise ValueError("eager cannot")

    eager = Backend("eager", "torch", lambda device: None, lambda module, operands: fail)
    first, other = profile_instance(RELU, [eager, backend(alike)], CPU, CONFIG, TickingClock())
    assert (first.status, first.detail) == (Status.RAISED, "ValueError: eager cannot")
    assert (other.status, other.detail) == (Status.RAISED, "eager mode: ValueError: eager cannot")
    assert (first.measurement, other.measurement) == (None, None)


def compiling(flag: Callable[[int], int], reset: bool = False) -> Backend:
    """Dynamo without a compiler, called with a number that it compiles anew for each value of."""

    def build(module: fx.GraphModule, operands: Sequence[torch.Tensor]) -> Runner:
        num_calls = 0

        def flagged(number: int, *operands: torch.Tensor) -> Any:
            return [output + number * 0 for output in module(*operands)]

        compiled = torch.compile(flagged, backend="eager", dynamic=False)

        def run(*operands: torch.Tensor) -> Any:
            nonlocal num_calls
            num_calls += 1
            if reset:
                torch.compiler.reset()
            return compiled(flag(num_calls), *operands)

        return run

    return Backend("other", "torch", lambda device: None, build)


@pytest.mark.parametrize("warmup", [0, 20])
def test_a_program_that_is_compiled_at_each_call_up_to_torchs_limit(warmup: int) -> None:
    config = replace(CONFIG, timer=TimerConfig(warmup, 100, max_attempts=1))
    eager, other = profiled(RELU, compiling(lambda number: number), config=config)
    assert eager.status is Status.OK
    assert (other.status, other.recompiles) == (Status.RECOMPILES, 7)
    assert "compiled 7 times" in (other.detail or "")
    assert other.measurement is not None and other.measurement.times_ns


def test_a_program_that_is_compiled_at_each_call_without_end() -> None:
    _, other = profiled(RELU, compiling(lambda number: 0, reset=True))
    assert (other.status, other.recompiles) == (Status.RECOMPILES, 8)


def test_a_second_compilation_before_the_trials_is_counted_and_no_failure() -> None:
    eager, other, _ = profiled(RELU, compiling(lambda number: min(number, 2)), backend(alike, "third"))
    assert (other.status, other.recompiles, other.graph_breaks) == (Status.OK, 1, 0)
    assert eager.recompiles is None


def test_random_ops_draw_the_same_numbers_under_each_backend() -> None:
    def spend(run: Runner, operands: Sequence[torch.Tensor]) -> Any:
        outputs = run(*operands)
        torch.rand(10)
        return outputs

    _, *others = profiled(RANDOM, backend(spend, "a"), backend(alike, "b"))
    assert all(other.comparison and other.comparison.bitwise_equal for other in others)
    (moved,) = profiled(RANDOM, backend(lambda run, operands: (torch.rand(1), run(*operands))[1]))[1:]
    assert moved.comparison is not None and not moved.comparison.bitwise_equal


def test_operands_depend_on_the_seed_alone() -> None:
    seen: list[torch.Tensor] = []

    def spy(run: Runner, operands: Sequence[torch.Tensor]) -> Any:
        seen.append(operands[0].clone())
        return run(*operands)

    first = [profiled(RELU, backend(spy), config=replace(CONFIG, seed=seed)) and seen.pop() for seed in (3, 3, 4)]
    assert torch.equal(first[0], first[1]) and not torch.equal(first[0], first[2])


@pytest.mark.parametrize(("seconds", "trials"), [(1e9, 100), (25.5e-6, 25), (1e-9, 20)])
def test_an_attempt_has_as_many_trials_as_it_has_time_for(seconds: float, trials: int) -> None:
    config = replace(CONFIG, timer=TimerConfig(), attempt_seconds=seconds)
    eager, other = profiled(RELU, backend(lambda run, operands: run(*operands)), config=config)
    assert (eager.repeats, other.repeats) == (trials, trials)
    assert eager.warmup == trials // 5
