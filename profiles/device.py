"""The device that instances are timed on: what it is, and what it is doing.

A CPU is this process's: threads are pinned to as many of the CPUs that it may use, the last ones, since the first are
where a system's own work tends to be. Facts of a GPU come from torch, and from NVML where nvidia-ml-py is installed;
what neither says is None.
"""

from __future__ import annotations

import contextlib
import os
import platform
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import torch

from profiles.device_lock import DeviceError
from profiles.host_memory import describe_host_memory
from profiles.timing import Environment

_CPU_FACTS = Path("/proc/cpuinfo")
_CPU_CACHES = Path("/sys/devices/system/cpu/cpu0/cache")
_UNITS = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
_NO_THROTTLING = 0x1  # nvml.h, nvmlClocksEventReasonGpuIdle: an idle GPU is slowed by nothing


@dataclass(frozen=True, slots=True)
class DeviceState:
    """What a device was doing at one moment; None where it does not say. `load_1m` is the host's."""

    clock_mhz: float | None = None
    memory_clock_mhz: float | None = None
    temperature_c: float | None = None
    throttle_reasons: tuple[str, ...] | None = None
    load_1m: float | None = None


def choose_device(name: str) -> torch.device:
    """Return the device of a name (`auto`, `cpu`, `cuda`, `cuda:N`); `auto` is a GPU where torch sees one.

    Raises DeviceError for another name, and for a GPU that torch does not see.
    """
    has_cuda = torch.cuda.is_available()
    if name == "auto":
        return torch.device("cuda:0" if has_cuda else "cpu")
    kind, _, index = name.partition(":")
    if kind not in ("cpu", "cuda") or (index and not index.isdecimal()) or (kind == "cpu" and index):
        raise DeviceError(f"unknown device {name!r}; choose auto, cpu or cuda:N")
    if kind == "cpu":
        return torch.device("cpu")
    num_devices = torch.cuda.device_count() if has_cuda else 0
    if int(index or 0) >= num_devices:
        raise DeviceError(f"torch sees {num_devices} CUDA devices, so no {name!r}; choose auto or cpu")
    return torch.device("cuda", int(index or 0))


def pin_threads(num_threads: int) -> tuple[int, ...]:
    """Bind this process to as many CPUs (all, where there are fewer), torch to as many threads; return the CPUs."""
    allowed = sorted(os.sched_getaffinity(0))
    chosen = tuple(allowed[-num_threads:])
    os.sched_setaffinity(0, chosen)
    torch.set_num_threads(num_threads)
    return chosen


def describe_environment(device: torch.device) -> Environment:
    """Return what the device is and what runs on it, as this process is pinned now."""
    facts = _gpu_facts(device) if device.type == "cuda" else _cpu_facts()
    return Environment(
        **facts,
        torch_version=torch.__version__,
        triton_version=_version_of("triton"),
        python_version=platform.python_version(),
        os=f"{platform.system()} {platform.release()}",
        num_threads=torch.get_num_threads(),
        pinned_cpus=tuple(sorted(os.sched_getaffinity(0))),
        host_memory=describe_host_memory(),
    )


def read_state(device: torch.device) -> DeviceState:
    """Return what the device is doing now."""
    load = os.getloadavg()[0]
    return _gpu_state(device, load) if device.type == "cuda" else DeviceState(_cpu_clock(), load_1m=load)


def _cpu_facts() -> dict[str, Any]:
    name = _cpu_name()
    return {
        "device_id": f"cpu:{name}",
        "device_kind": "cpu",
        "device_name": name,
        "driver": None,
        "cuda_version": None,
        "compute_capability": None,
        "num_sm": None,
        "memory_bytes": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        "cache_bytes": last_level_cache_bytes(),
    }


def last_level_cache_bytes() -> int | None:
    """Return the size of this CPU's last-level cache as the kernel gives it, None where it does not."""
    sizes: list[tuple[int, int]] = []
    for folder in _CPU_CACHES.glob("index*"):
        with contextlib.suppress(OSError, ValueError, KeyError):
            text = (folder / "size").read_text().strip()
            sizes.append((int((folder / "level").read_text()), int(text[:-1]) * _UNITS[text[-1]]))
    return max(sizes)[1] if sizes else None


def _cpu_name() -> str:
    for name in ("model name", "Model", "Hardware"):
        if (found := _cpu_fact(name)) is not None:
            return found
    return platform.processor() or platform.machine()


def _cpu_clock() -> float | None:
    clock = _cpu_fact("cpu MHz")
    return None if clock is None else float(clock)


def _cpu_fact(name: str) -> str | None:
    with contextlib.suppress(OSError):
        for line in _CPU_FACTS.read_text().splitlines():
            key, _, value = line.partition(":")
            if key.strip() == name:
                return " ".join(value.split())
    return None


def _gpu_facts(device: torch.device) -> dict[str, Any]:
    properties = torch.cuda.get_device_properties(device)
    name = properties.name
    return {
        "device_id": f"cuda:{name}:{properties.uuid}",
        "device_kind": "cuda",
        "device_name": name,
        "driver": _driver(),
        "cuda_version": torch.version.cuda,
        "compute_capability": f"{properties.major}.{properties.minor}",
        "num_sm": properties.multi_processor_count,
        "memory_bytes": properties.total_memory,
        "cache_bytes": properties.L2_cache_size,
    }


def _driver() -> str | None:
    with _nvml() as nvml:
        return None if nvml is None else str(nvml.nvmlSystemGetDriverVersion())


def _gpu_state(device: torch.device, load: float) -> DeviceState:
    with _nvml() as nvml:
        if nvml is None:
            return DeviceState(load_1m=load)
        uuid = str(torch.cuda.get_device_properties(device).uuid).removeprefix("GPU-")

        def asked(function: str, *args: Any) -> Any:
            try:
                return getattr(nvml, function)(nvml.nvmlDeviceGetHandleByUUID(f"GPU-{uuid}"), *args)
            except (nvml.NVMLError, AttributeError):  # not every device, driver or partition of one says everything
                return None

        core, memory = (asked("nvmlDeviceGetClockInfo", kind) for kind in (nvml.NVML_CLOCK_SM, nvml.NVML_CLOCK_MEM))
        reasons = asked("nvmlDeviceGetCurrentClocksThrottleReasons")
        return DeviceState(
            None if core is None else float(core),
            None if memory is None else float(memory),
            asked("nvmlDeviceGetTemperature", nvml.NVML_TEMPERATURE_GPU),
            None if reasons is None else _throttle_reasons(nvml, reasons),
            load,
        )


def _throttle_reasons(nvml: Any, bits: int) -> tuple[str, ...]:
    """Return the names of the bits of a mask, as nvml.h spells them."""
    prefix = "nvmlClocksThrottleReason"
    named = {getattr(nvml, name): name.removeprefix(prefix) for name in dir(nvml) if name.startswith(prefix)}
    single = sorted(bit for bit in named if bit and not bit & (bit - 1) and bit != _NO_THROTTLING)
    return tuple(named[bit] for bit in single if bits & bit)


@contextlib.contextmanager
def _nvml() -> Iterator[Any]:
    """Yield NVML, opened, or None where it is not there."""
    try:
        import pynvml  # pyright: ignore[reportMissingImports]  nvidia-ml-py: bare machines may lack it

        pynvml.nvmlInit()
    except Exception:  # foreign code: no package, no driver, or a driver of another age
        yield None
        return
    try:
        yield pynvml
    finally:
        pynvml.nvmlShutdown()


def _version_of(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None
