"""Programs to timings by way of a child that may die: who is to blame for its end, and what each backend gets for it.

One `DeviceSession` holds a device against other timing processes on this host and keeps one warm child
(`tasks.profile_worker`), which is replaced when it dies, hangs, swells or loses the device. A program whose request the
child does not survive is asked for again, eager mode alone, then each backend beside it: every backend ends with a
`Timing` that says what became of it. Standard library only.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from types import TracebackType
from typing import Any, Self

from extract.failure import Reason
from extract.sandbox import GIB, ChildFailed, Limits, Sandbox
from profiles.device_lock import DeviceError, device_lock
from profiles.timing import EAGER, Cache, EmptyGraph, Environment, ProfileRun, Status, Timing

_COMMAND = (sys.executable, "-m", "tasks.profile_worker", "--serve")
_STATUS_OF = {
    Reason.TIMEOUT: Status.TIMEOUT,
    Reason.OUT_OF_MEMORY: Status.OUT_OF_MEMORY,
}
_DETAIL_CHARS = 500
_MEASURES = frozenset(
    "status detail latency_us iqr_frac device_us num_kernels graph_breaks recompiles compile_s warmup repeats "
    "calls_per_trial attempts stable overhead_dominated mutates_inputs bitwise_equal max_abs_diff max_rel_diff "
    "tolerance_level blocks seconds".split()
)


@dataclass(frozen=True, slots=True)
class ProfileJob:
    """What a run was given: a device by name, backends beside eager mode, how trials are made, and the limits of the
    child: seconds for each request, bytes of memory."""

    run_id: str
    device: str = "auto"
    backends: tuple[str, ...] = ("inductor",)
    cache: Cache = "cold"
    num_threads: int = 1
    seed: int = 0
    warmup: int = 20
    trials: int = 100
    max_attempts: int = 5
    attempt_seconds: float = 5.0
    request_seconds: float = 600.0
    memory_bytes: int = 8 * GIB

    @property
    def all_backends(self) -> tuple[str, ...]:
        """The backends with eager mode, which comes first."""
        return tuple(dict.fromkeys((EAGER, *self.backends)))


@dataclass
class DeviceSession:
    """A device and the child that times on it, with a cache of compiled kernels of its own that goes with it.

    `missing` says of the backends that cannot be had here what they lack; they are left out.

    Entering starts the child and takes the lock; raises StartFailed, `DeviceError` where the device is not to be had,
    and ChildFailed where the child cannot even say what the device is.
    """

    job: ProfileJob
    environment: Environment = field(init=False)
    run: ProfileRun = field(init=False)
    missing: dict[str, str] = field(init=False, default_factory=dict)
    _is_interrupted: bool = field(init=False, default=False)

    def __enter__(self) -> Self:
        job = self.job
        self._stack = contextlib.ExitStack()
        with contextlib.ExitStack() as stack:
            kernels = tempfile.TemporaryDirectory(prefix="passnet-inductor-", ignore_cleanup_errors=True)
            self._sandbox = _sandbox(job, stack.enter_context(kernels))
            stack.callback(self._sandbox.close)
            described = self._ask("describe", job.all_backends)
            self.environment, self.missing = _environment(described), described["missing"]
            stack.enter_context(device_lock(self.environment.device_id))
            self.run = self._describe_run(self._measure_overhead())
            self._stack = stack.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    @property
    def backends(self) -> tuple[str, ...]:
        """The backends that are timed, eager mode first."""
        return tuple(name for name in self.job.all_backends if name not in self.missing)

    def interrupt(self) -> None:
        """End what the child does, from any thread; nothing more is timed."""
        self._is_interrupted = True
        self._sandbox.interrupt()

    def time(self, instance_sha256: str, program: bytes) -> list[Timing]:
        """Return the timing of an instance under each backend, eager mode first.

        Raises ChildFailed (`killed`) after `interrupt`, and StartFailed where no child starts any more.
        """
        names, started = self.backends, time.monotonic()
        try:
            return self._timings(instance_sha256, names, self._ask("profile", names, program))
        except ChildFailed as error:
            if self._is_interrupted:
                raise
            return self._time_apart(instance_sha256, program, error, time.monotonic() - started)

    def _time_apart(self, instance_sha256: str, program: bytes, error: ChildFailed, seconds: float) -> list[Timing]:
        """Find who is to blame for what took `seconds`: eager mode first, alone, then each backend beside it."""
        names = self.backends
        eager = self._time_some(instance_sha256, program, (EAGER,))[0]
        if not eager.status.has_times:
            return [eager, *(self._failed(instance_sha256, name, eager.status, eager.detail) for name in names[1:])]
        if len(names) == 2 and error.reason is Reason.TIMEOUT:  # the other hangs; what else it died of is tried again
            return [eager, self._failed(instance_sha256, names[1], _status(error), error.detail, seconds)]
        others = [self._time_some(instance_sha256, program, (EAGER, name))[-1] for name in names[1:]]
        return [eager, *others]

    def _time_some(self, instance_sha256: str, program: bytes, names: Sequence[str]) -> list[Timing]:
        started = time.monotonic()
        try:
            return self._timings(instance_sha256, names, self._ask("profile", names, program))
        except ChildFailed as error:
            if self._is_interrupted:
                raise
            seconds = time.monotonic() - started
            return [self._failed(instance_sha256, name, _status(error), error.detail, seconds) for name in names]

    def _measure_overhead(self) -> dict[str, Any]:
        """Return the state of the device and what an empty graph takes, None under a backend that kills the child."""
        try:
            return self._ask("overhead", self.backends)
        except ChildFailed:
            if self._is_interrupted:
                raise
        reply = self._ask("overhead", (EAGER,))
        reply["empty_us"] += [self._overhead_beside_eager(name) for name in self.backends[1:]]
        return reply

    def _overhead_beside_eager(self, name: str) -> dict[str, Any]:
        try:
            return self._ask("overhead", (EAGER, name))["empty_us"][-1]
        except ChildFailed:
            if self._is_interrupted:
                raise
            return {"backend": name, "latency_us": None, "device_us": None}

    def _ask(self, what: str, names: Sequence[str], program: bytes = b"") -> dict[str, Any]:
        if self._is_interrupted:
            raise ChildFailed(Reason.KILLED, "interrupted by this run")
        header = {"do": what, "backends": list(names), "job": asdict(self.job)}
        if what == "profile":
            header["empty_us"] = {empty.backend: empty.latency_us for empty in self.run.empty_us}
        reply, _ = self._sandbox.request(header, program)
        if "refused" in reply:
            raise DeviceError(str(reply["refused"]))
        return reply

    def _timings(self, instance_sha256: str, names: Sequence[str], reply: dict[str, Any]) -> list[Timing]:
        if "failure" in reply:
            return [self._failed(instance_sha256, name, Status.RAISED, reply["failure"]) for name in names]
        rows = {str(row.pop("backend")): row for row in reply["profiles"]}
        if set(rows) != set(names) or any(set(row) != _MEASURES for row in rows.values()):
            raise ChildFailed(Reason.BAD_REPLY, "not the timings that were asked for")
        return [self._timing(instance_sha256, name, **rows[name]) for name in names]

    def _failed(
        self, instance_sha256: str, backend: str, status: Status, detail: str | None, seconds: float = 0.0
    ) -> Timing:
        said = (detail or "")[:_DETAIL_CHARS]
        return self._timing(instance_sha256, backend, status=status, detail=said, seconds=seconds)

    def _timing(self, instance_sha256: str, backend: str, **measures: Any) -> Timing:
        measures["status"] = Status(measures["status"])
        measures["blocks"] = tuple(measures.get("blocks", ()))
        environment = self.environment
        return Timing(
            instance_sha256=instance_sha256,
            backend=backend,
            device_id=environment.device_id,
            environment_sha256=environment.environment_sha256,
            run_id=self.job.run_id,
            cache=self.job.cache,
            **measures,
        )

    def _describe_run(self, reply: dict[str, Any]) -> ProfileRun:
        state = reply["state"]
        reasons = state["throttle_reasons"]
        return ProfileRun(
            run_id=self.job.run_id,
            device_id=self.environment.device_id,
            environment_sha256=self.environment.environment_sha256,
            started_at=datetime.now(UTC),
            config=json.dumps(asdict(self.job), sort_keys=True),
            empty_us=tuple(EmptyGraph(**empty) for empty in reply["empty_us"]),
            **{**state, "throttle_reasons": None if reasons is None else tuple(reasons)},
        )


def new_run_id() -> str:
    """Return an id that says when the run began."""
    return f"profile-{datetime.now(UTC):%Y%m%dT%H%M%S}-{secrets.token_hex(3)}"


def _sandbox(job: ProfileJob, kernels_folder: str) -> Sandbox:
    """Return the sandbox of a job; what Inductor compiles is kept from one child to the next."""
    limits = Limits(
        seconds=job.request_seconds,
        address_bytes=1 << 44,  # CUDA maps all of the device's memory, and more
        resident_bytes=job.memory_bytes,
        recycle_bytes=job.memory_bytes // 2,
        num_requests=100,
    )
    threads = str(job.num_threads)
    environment = {
        "TORCHINDUCTOR_CACHE_DIR": os.path.abspath(kernels_folder),
        "TORCHINDUCTOR_COMPILE_THREADS": "1",
        "TORCHINDUCTOR_FX_GRAPH_CACHE": "0",
        "TORCHINDUCTOR_AUTOGRAD_CACHE": "0",
        "OMP_NUM_THREADS": threads,
        "MKL_NUM_THREADS": threads,
        "PYTHONFAULTHANDLER": "1",
    }
    return Sandbox(_COMMAND, limits, environment)


def _environment(reply: dict[str, Any]) -> Environment:
    facts = dict(reply["environment"])
    facts.pop("environment_sha256")
    pinned = facts.pop("pinned_cpus")
    return Environment(**facts, pinned_cpus=None if pinned is None else tuple(pinned))


def _status(error: ChildFailed) -> Status:
    return _STATUS_OF.get(error.reason, Status.CRASHED)
