"""Bare-machine entry point: time instances on this machine's CPU or GPU; needs torch and pyarrow alone.

`python -m tasks.profile_worker SHARD.parquet OUT.parquet` times the instances of a shard (`passnet profile
--write-shard` writes one) and writes what each backend gave to OUT, which it goes on with where there is one already;
`passnet profile --take OUT.parquet` brings it home. With `--serve` it is the child of an `extract.sandbox.Sandbox`:

- `{"do": "describe", "job": fields of ProfileJob}` -> `{"environment": fields of Environment, "missing": {backend: what
  it lacks here}}`
- `{"do": "overhead", "job": ..., "backends": [name, ...]}` -> `{"state": fields of DeviceState, "empty_us": [fields of
  EmptyGraph, ...]}`
- `{"do": "profile", ..., "empty_us": {name: us}}` with a program as payload (`storage.records.program_to_bytes`) ->
  `{"profiles": [a backend and its measures as in Timing, ...]}`, or `{"failure": "..."}` where operands cannot be drawn

A device or backend that is not to be had is `{"refused": "..."}`.
"""

from __future__ import annotations

import argparse
import gc
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from extract.sandbox_child import FDS_NAME, serve, take_pipes
from extract.sandbox_frames import Header

if TYPE_CHECKING:
    from profiles.instance_profile import BackendProfile, ProfileConfig
    from profiles.supervised import ProfileJob

_DETAIL_CHARS = 500
_REFUSED_CODE = 2
_INTERRUPTED_CODE = 130
_MAX_THREADS = 1024
_MAX_SECONDS = 1e7  # four months; infinity is no wall time


def main(argv: Sequence[str] | None = None) -> None:
    """Serve a sandbox, or time a shard; exits with a usage message on bad arguments."""
    parser = argparse.ArgumentParser(prog="python -m tasks.profile_worker", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("shard", nargs="?", type=Path, metavar="SHARD.parquet", help="instances, with their programs")
    parser.add_argument("out", nargs="?", type=Path, metavar="OUT.parquet", help="timings; gone on with where it is")
    parser.add_argument("--device", default="auto", help="auto, cpu or cuda:N (default: a GPU where there is one)")
    parser.add_argument("--backends", default="eager,inductor", help="separated by commas")
    parser.add_argument("--cache", default="cold", choices=("cold", "warm"), help="where operands are at each trial")
    parser.add_argument("--threads", default=1, type=int, help="of torch on the CPU, pinned")
    parser.add_argument("--seconds", default=600.0, type=float, help="for each instance at most")
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args(argv)
    if options.serve:
        if FDS_NAME not in os.environ:
            parser.error(f"{FDS_NAME} is not set: --serve is for the child of a sandbox")
        pipes = take_pipes()
        serve(pipes, Worker().answer)
        return
    if options.shard is None or options.out is None:
        parser.error("give a shard and a file for what comes out, as in: SHARD.parquet OUT.parquet")
    if not 1 <= options.threads <= _MAX_THREADS:
        parser.error(f"--threads {options.threads} is no number to run on: give 1 to {_MAX_THREADS}")
    if not 0 < options.seconds <= _MAX_SECONDS:
        parser.error(f"--seconds {options.seconds} is no time to run in: give more than 0, {_MAX_SECONDS:,.0f} at most")
    _time_shard(options)


def _time_shard(options: argparse.Namespace) -> None:
    from tasks.profile_shard import ShardError, time_shard

    try:
        time_shard(options.shard, options.out, _job(options), _say)
    except KeyboardInterrupt:
        _say("profile_worker: stopped; run the same command again to go on")
        sys.exit(_INTERRUPTED_CODE)
    except ShardError as error:
        _say(f"profile_worker: {error}")
        sys.exit(_REFUSED_CODE)


def _say(line: str) -> None:
    sys.stderr.write(f"{line}\n")
    sys.stderr.flush()


class Worker:
    """The child's side: one device, chosen and pinned at the first request, and the clocks that foreign code cannot
    change."""

    def __init__(self) -> None:
        from profiles.clock import HostClock

        self._clock = HostClock()
        self._pinned = False
        self._device_clock: Any = None

    def answer(self, header: Header, payload: bytes) -> tuple[Header, bytes]:
        """Answer one request; `DeviceLost` rises, so that the child ends."""
        from profiles.backends import BackendError
        from profiles.device_lock import DeviceError
        from profiles.supervised import ProfileJob

        fields = dict(header["job"])
        job = ProfileJob(**{**fields, "backends": tuple(fields["backends"])})
        try:
            self._prepare(job)
            reply = {"describe": self._describe, "overhead": self._overhead, "profile": self._profile}[header["do"]](
                job, header, payload
            )
        except (DeviceError, BackendError) as error:
            return {"refused": str(error)}, b""
        self._let_go()
        return reply, b""

    def _let_go(self) -> None:
        """Free what the program held, on the device too, so that the next finds the memory that this one found."""
        import torch

        gc.collect()
        if self._device.type == "cuda":
            torch.cuda.empty_cache()

    def _prepare(self, job: ProfileJob) -> None:
        import torch

        from profiles.cuda_clock import CudaClock
        from profiles.device import choose_device, pin_threads
        from profiles.host_memory import keep_freed_memory

        self._device = choose_device(job.device)
        if not self._pinned:
            pin_threads(job.num_threads)
            keep_freed_memory()
            self._pinned = True
            if self._device.type == "cuda":
                torch.cuda.set_device(self._device)
                self._device_clock = CudaClock(self._device, job.cache, self._clock.now_ns)

    def _describe(self, job: ProfileJob, header: Header, payload: bytes) -> Header:
        from dataclasses import asdict

        from profiles.backends import choose_backends, find_backends, find_missing
        from profiles.device import describe_environment

        backends = choose_backends(job.backends, find_backends())
        missing = {backend.name: find_missing(backend, self._device.type) for backend in backends}
        return {
            "environment": asdict(describe_environment(self._device)),
            "missing": {name: reason for name, reason in missing.items() if reason is not None},
        }

    def _overhead(self, job: ProfileJob, header: Header, payload: bytes) -> Header:
        from dataclasses import asdict

        from profiles.device import read_state

        state = asdict(read_state(self._device))
        profiles = self._timed(_empty_graph(), header["backends"], self._config(job))
        empty = [
            {
                "backend": profile.backend,
                "latency_us": profile.measurement and profile.measurement.median_us,
                "device_us": profile.measurement and profile.measurement.device_us,
            }
            for profile in profiles
        ]
        return {"state": state, "empty_us": empty}

    def _profile(self, job: ProfileJob, header: Header, payload: bytes) -> Header:
        from profiles.instance_profile import DeviceLost
        from storage.records import program_from_bytes

        try:
            profiles = self._timed(program_from_bytes(payload), header["backends"], self._config(job))
        except DeviceLost:
            raise
        except Exception as error:  # foreign code: operands of a program that nothing can draw
            return {"failure": " ".join(f"{type(error).__name__}: {error}".split())[:_DETAIL_CHARS]}
        return {"profiles": [_measures(profile, header["empty_us"].get(profile.backend)) for profile in profiles]}

    def _timed(self, graph: Any, names: Sequence[str], config: ProfileConfig) -> list[BackendProfile]:
        from profiles.backends import choose_backends, find_backends
        from profiles.instance_profile import profile_instance

        backends = choose_backends(names, find_backends())
        return profile_instance(graph, backends, self._device, config, self._clock, self._device_clock)

    def _config(self, job: ProfileJob) -> ProfileConfig:
        from profiles.device import last_level_cache_bytes
        from profiles.instance_profile import ProfileConfig
        from profiles.timer import TimerConfig

        timer = TimerConfig(job.warmup, job.trials, max_attempts=job.max_attempts, seed=job.seed)
        cache_bytes = last_level_cache_bytes() if self._device.type == "cpu" else None
        return ProfileConfig(timer, job.cache, cache_bytes, job.seed, job.attempt_seconds)


def _empty_graph() -> Any:
    """Return a program that computes nothing: a view, since what has no call at all is not compiled."""
    from extract.graph import Graph, Node, OpRef, TensorMeta, TensorRef

    tensor = TensorMeta("x", "input", "x", (1,), (1,), "float32")
    return Graph((Node("view", "torch.Tensor.view", (TensorRef(0), -1)),), (tensor,), (OpRef(0),))


def _measures(profile: BackendProfile, empty_us: float | None) -> dict[str, Any]:
    """Return the columns of a Timing that are measured."""
    measured, compared = profile.measurement, profile.comparison
    latency_us = measured and measured.median_us
    device_us = measured and measured.device_us
    return {
        "backend": profile.backend,
        "status": str(profile.status),
        "detail": profile.detail,
        "latency_us": latency_us,
        "iqr_frac": measured and measured.iqr_frac,
        "device_us": device_us,
        "num_kernels": profile.num_kernels,
        "graph_breaks": profile.graph_breaks,
        "recompiles": profile.recompiles,
        "compile_s": profile.compile_s,
        "warmup": profile.warmup,
        "repeats": profile.repeats,
        "calls_per_trial": measured and measured.calls,
        "attempts": measured.attempts if measured else 0,
        "stable": measured and measured.stable,
        "overhead_dominated": _is_overhead(latency_us, device_us, empty_us),
        "mutates_inputs": profile.mutates_inputs,
        "bitwise_equal": compared and compared.bitwise_equal,
        "max_abs_diff": compared and compared.max_abs_diff,
        "max_rel_diff": compared and compared.max_rel_diff,
        "tolerance_level": compared and compared.tolerance_level,
        "blocks": list(measured.blocks) if measured else [],
        "seconds": profile.seconds,
    }


def _is_overhead(latency_us: float | None, device_us: float | None, empty_us: float | None) -> bool | None:
    """Tell whether less than half of a latency is the program's own; None where that is not known."""
    if latency_us is None:
        return None
    if device_us is not None:
        return device_us < latency_us / 2
    return None if empty_us is None else latency_us < 2 * empty_us


def _job(options: argparse.Namespace) -> ProfileJob:
    from profiles.supervised import ProfileJob, new_run_id

    names = tuple(name.strip() for name in options.backends.split(",") if name.strip())
    return ProfileJob(
        new_run_id(), options.device, names, options.cache, options.threads, request_seconds=options.seconds
    )


if __name__ == "__main__":
    main()
