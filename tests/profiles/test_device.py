"""Devices by name, threads and CPUs, environments, states, and the lock that one process of a host holds."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

from profiles import device as devices
from profiles.device import choose_device, describe_environment, last_level_cache_bytes, read_state
from profiles.device_lock import DeviceError, device_lock

ROOT = Path(__file__).parents[2]
CPU = torch.device("cpu")
PINNED = """
import json, os, sys, torch
from profiles.device import describe_environment, pin_threads
allowed = sorted(os.sched_getaffinity(0))
pinned = pin_threads(int(sys.argv[1]))
environment = describe_environment(torch.device("cpu"))
print(json.dumps([allowed, pinned, sorted(os.sched_getaffinity(0)), environment.pinned_cpus, environment.num_threads]))
"""


@pytest.fixture
def two_gpus(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)


@pytest.fixture
def no_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)


def test_names_of_devices_without_a_gpu(no_gpu: None) -> None:
    assert choose_device("auto") == choose_device("cpu") == CPU
    for name in ("cuda", "cuda:0", "cuda:7"):
        with pytest.raises(DeviceError, match=f"torch sees 0 CUDA devices, so no '{name}'"):
            choose_device(name)


def test_names_of_devices_with_two(two_gpus: None) -> None:
    assert choose_device("cpu") == CPU
    assert [choose_device(name).index for name in ("auto", "cuda", "cuda:0", "cuda:1")] == [0, 0, 0, 1]
    with pytest.raises(DeviceError, match="torch sees 2 CUDA devices"):
        choose_device("cuda:2")


@pytest.mark.parametrize("name", ["", "gpu", "cpu:0", "cuda:x", "cuda:-1", "cuda:0:1", "CPU", "mps"])
def test_other_names_are_refused(two_gpus: None, name: str) -> None:
    with pytest.raises(DeviceError, match="unknown device"):
        choose_device(name)


@pytest.mark.parametrize("num_threads", [1, 2, 999])
def test_threads_are_pinned_to_the_last_cpus_and_recorded(num_threads: int) -> None:
    done = subprocess.run(
        [sys.executable, "-c", PINNED, str(num_threads)], cwd=ROOT, check=True, capture_output=True, text=True
    )
    allowed, pinned, now, recorded, threads = json.loads(done.stdout)
    assert pinned == now == recorded == allowed[-num_threads:]
    assert threads == num_threads


def test_a_cpu_says_what_it_is_and_nothing_of_gpus() -> None:
    environment = describe_environment(CPU)
    assert environment.device_kind == "cpu"
    assert environment.device_id == f"cpu:{environment.device_name}"
    assert environment.device_name.strip()
    assert environment.torch_version == torch.__version__
    assert environment.num_threads == torch.get_num_threads()
    assert environment.pinned_cpus == tuple(sorted(os.sched_getaffinity(0)))
    assert (environment.driver, environment.cuda_version, environment.num_sm) == (None, None, None)
    assert environment == describe_environment(CPU)


def test_the_last_level_cache_is_the_largest_level(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for index, (level, size) in enumerate([(1, "48K"), (3, "24M"), (2, "2048K"), (4, "junk")]):
        folder = tmp_path / f"index{index}"
        folder.mkdir()
        (folder / "level").write_text(f"{level}\n")
        (folder / "size").write_text(f"{size}\n")
    (tmp_path / "index9").mkdir()
    monkeypatch.setattr(devices, "_CPU_CACHES", tmp_path)
    assert last_level_cache_bytes() == 24 << 20
    monkeypatch.setattr(devices, "_CPU_CACHES", tmp_path / "none")
    assert last_level_cache_bytes() is None


def test_a_machine_without_proc_has_a_name_and_no_clock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(devices, "_CPU_FACTS", tmp_path / "none")
    assert describe_environment(CPU).device_name
    assert read_state(CPU).clock_mhz is None
    assert read_state(CPU).load_1m is not None


def test_reasons_of_throttling_are_named_as_in_nvml() -> None:
    nvml = SimpleNamespace(
        nvmlClocksThrottleReasonGpuIdle=1,
        nvmlClocksThrottleReasonSwPowerCap=4,
        nvmlClocksThrottleReasonHwSlowdown=8,
        nvmlClocksThrottleReasonNone=0,
        nvmlClocksThrottleReasonAll=13,
    )
    assert devices._throttle_reasons(nvml, 0) == ()
    assert devices._throttle_reasons(nvml, 1) == ()
    assert devices._throttle_reasons(nvml, 13) == ("SwPowerCap", "HwSlowdown")


def test_a_device_is_held_by_one_process_at_a_time(tmp_path: Path) -> None:
    other = "import sys; from pathlib import Path; from profiles.device_lock import *\n"
    other += "with device_lock(sys.argv[1], Path(sys.argv[2])): print('held')"

    def hold(device_id: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-c", other, device_id, str(tmp_path)]
        return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)

    with device_lock("cpu:a", tmp_path):
        refused = hold("cpu:a")
        assert "another process is timing on cpu:a" in refused.stderr
        assert hold("cpu:b").stdout == "held\n"
    assert hold("cpu:a").stdout == "held\n"


def test_a_lock_that_another_user_made_is_taken_and_none_is_a_device_error(tmp_path: Path) -> None:
    with device_lock("cpu:a", tmp_path):
        pass
    (made,) = tmp_path.iterdir()
    made.chmod(0o444)
    with device_lock("cpu:a", tmp_path):
        pass
    with pytest.raises(DeviceError, match="cannot be opened"), device_lock("cpu:a", tmp_path / "none"):
        pass


def test_what_fails_while_a_device_is_held_is_not_taken_for_the_lock(tmp_path: Path) -> None:
    with pytest.raises(BlockingIOError), device_lock("cpu:a", tmp_path):
        raise BlockingIOError
    with device_lock("cpu:a", tmp_path):
        pass
