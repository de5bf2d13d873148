"""What was timed, on what, and in which run: the records behind `timings`, `environments` and `profile_runs`.

A `Timing` is one instance under one backend on one device in one run, with its operands cold or warm; an `Environment`
is all that decides how fast a device is and stays the same between runs; a `ProfileRun` is what a run found the machine
doing, and the fixed overhead that it measured on an empty graph. Field by field these are the schemas of
`storage.timing_schemas`: what was not measured is None, never 0 or -1. Noise is no status: it is `stable = False`.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field, fields
from datetime import datetime
from enum import StrEnum
from typing import Final, Literal

EAGER: Final = "eager"
"""The backend that others are compared with: the calls one by one, as the model makes them."""

MAX_IQR_FRAC: Final = 0.2
"""Interquartile range over median above which a timing is unstable (paper, appendix C, table 3)."""

Cache = Literal["cold", "warm"]
"""Where operands are when a trial starts. cold: drawn from a pool larger than the last-level cache (CUDA: that cache
flushed); warm: the same operands at each trial."""

DeviceKind = Literal["cpu", "cuda"]


class Status(StrEnum):
    """How timing one instance under one backend ended."""

    OK = "ok"
    UNAVAILABLE = "unavailable"  # what the backend needs is missing on this machine
    COMPILE_FAILED = "compile_failed"
    RAISED = "raised"
    CRASHED = "crashed"
    TIMEOUT = "timeout"
    OUT_OF_MEMORY = "out_of_memory"
    NOT_FINITE = "not_finite"  # NaN, or Inf where eager is finite; of eager: any NaN
    OUTPUTS_DIFFER = "outputs_differ"  # in structure, shape or dtype from eager's
    RECOMPILES = "recompiles"  # compiled again during timed trials

    @property
    def has_times(self) -> bool:
        """Whether trials were timed to the end: wrong outputs have times as right ones do."""
        return self in (Status.OK, Status.NOT_FINITE, Status.OUTPUTS_DIFFER, Status.RECOMPILES)


@dataclass(frozen=True, slots=True, kw_only=True)
class Timing:
    """One instance under one backend on one device in one run; times are medians of the steadiest attempt's trials.

    `latency_us` includes the host (on CUDA until the device has finished), `device_us` kernels alone (None on a CPU).
    `attempts` counts all, `blocks` has the places of this backend's blocks of trials among all of the attempt that was
    kept. The comparison with eager (`bitwise_equal` to `tolerance_level`) is None for eager itself, `compile_s` too.
    `seconds` is wall time spent on all of it.
    """

    instance_sha256: str
    backend: str
    device_id: str
    environment_sha256: str
    run_id: str
    cache: Cache
    status: Status
    detail: str | None = None
    latency_us: float | None = None
    iqr_frac: float | None = None
    device_us: float | None = None
    num_kernels: int | None = None
    graph_breaks: int | None = None
    recompiles: int | None = None
    compile_s: float | None = None
    warmup: int = 0
    repeats: int = 0
    calls_per_trial: int | None = None
    attempts: int = 0
    stable: bool | None = None
    overhead_dominated: bool | None = None
    mutates_inputs: bool | None = None
    bitwise_equal: bool | None = None
    max_abs_diff: float | None = None
    max_rel_diff: float | None = None
    tolerance_level: int | None = None
    blocks: tuple[int, ...] = ()
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Environment:
    """Hardware and software that times depend on; `environment_sha256` is computed of all the other fields.

    What does not apply to the kind of device is None. `num_threads`, `pinned_cpus` and `host_memory` are the timing
    process's own.
    """

    environment_sha256: str = field(init=False)
    device_id: str
    device_kind: DeviceKind
    device_name: str
    driver: str | None
    cuda_version: str | None
    compute_capability: str | None
    num_sm: int | None
    memory_bytes: int | None
    cache_bytes: int | None
    torch_version: str
    triton_version: str | None
    python_version: str
    os: str
    num_threads: int | None
    pinned_cpus: tuple[int, ...] | None
    host_memory: str | None

    def __post_init__(self) -> None:
        """Name the environment: SHA-256 of the other fields as JSON, keys sorted, no white space, UTF-8."""
        facts = {each.name: getattr(self, each.name) for each in fields(self) if each.init}
        if self.host_memory is None:  # as rows were named that are older than the field
            del facts["host_memory"]
        text = json.dumps(facts, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
        object.__setattr__(self, "environment_sha256", hashlib.sha256(text.encode()).hexdigest())


@dataclass(frozen=True, slots=True)
class EmptyGraph:
    """The fixed overhead of a backend: medians of a graph without ops; `device_us` is None on a CPU."""

    backend: str
    latency_us: float | None
    device_us: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfileRun:
    """One run on one device: its settings, what the device was doing when it began, and each backend's overhead.

    `started_at` is UTC, `config` JSON of the timer's config and the backends; what the device does not say is None.
    """

    run_id: str
    device_id: str
    environment_sha256: str
    started_at: datetime
    clock_mhz: float | None
    memory_clock_mhz: float | None
    temperature_c: float | None
    throttle_reasons: tuple[str, ...] | None
    load_1m: float | None
    config: str
    empty_us: tuple[EmptyGraph, ...]
