"""On a real GPU: the clock tells kernels from launches, instances get both clocks, environments are complete."""

from __future__ import annotations

import pytest
import torch

from profiles.backends import choose_backends, find_backends
from profiles.clock import HostClock
from profiles.cuda_clock import CudaClock
from profiles.device import choose_device, describe_environment, read_state
from profiles.instance_profile import ProfileConfig, profile_instance
from profiles.timer import Subject, TimerConfig, time_interleaved
from profiles.timing import Cache, Status
from tests.tasks.test_mine import chain

pytestmark = pytest.mark.gpu
CACHES: tuple[Cache, ...] = ("cold", "warm")


def test_the_device_takes_for_many_small_kernels_less_than_the_host() -> None:
    device, clock = choose_device("cuda"), HostClock()
    small, large = (torch.ones(size, size, device=device) for size in (8, 4096))
    config = TimerConfig(warmup=10, trials=40)

    def many() -> None:
        for _ in range(50):
            small.add(1)

    subjects = [Subject("many", lambda: many), Subject("large", lambda: lambda: large @ large)]
    for cache in CACHES:
        found = time_interleaved(subjects, config, clock, CudaClock(device, cache, clock.now_ns))
        host, own = found["many"].median_us, found["many"].device_us
        assert host is not None and own is not None and 0 < own < host
        host, own = found["large"].median_us, found["large"].device_us
        assert host is not None and own is not None
        assert 0.5 < own / host < 1.1  # the host waits for a kernel of milliseconds


def test_cold_operands_take_longer_than_warm_ones() -> None:
    device, clock = choose_device("cuda"), HostClock()
    half = torch.cuda.get_device_properties(device).L2_cache_size // 4
    operand = torch.ones(half // 4, device=device)
    subjects = [Subject("sum", lambda: lambda: operand.sum())]
    times = {
        cache: time_interleaved(subjects, TimerConfig(), clock, CudaClock(device, cache, clock.now_ns))["sum"].device_us
        for cache in CACHES
    }
    assert times["cold"] is not None and times["warm"] is not None
    assert times["cold"] > times["warm"]


def test_an_instance_gets_both_clocks_and_its_kernels() -> None:
    device, clock = choose_device("cuda:0"), HostClock()
    config = ProfileConfig(TimerConfig(warmup=3, trials=20))
    backends = choose_backends(("inductor",), find_backends())
    graph = chain("linear", "relu", "tanh")
    with torch.cuda.device(device):
        profiles = profile_instance(graph, backends, device, config, clock, CudaClock(device, "cold", clock.now_ns))
    for profile in profiles:
        assert profile.status is Status.OK, profile.detail
        assert profile.measurement is not None and profile.measurement.device_us
        assert profile.num_kernels
    eager, inductor = profiles
    assert (inductor.num_kernels or 0) < (eager.num_kernels or 0)


def test_the_environment_and_state_of_a_gpu_are_complete() -> None:
    device = choose_device("cuda")
    environment, state = describe_environment(device), read_state(device)
    for name in ("driver", "cuda_version", "compute_capability", "num_sm", "memory_bytes", "cache_bytes"):
        assert getattr(environment, name), name
    assert environment.device_id.startswith("cuda:")
    assert state.clock_mhz and state.temperature_c and state.throttle_reasons is not None
