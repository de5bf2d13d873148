"""A corpus with a small table of timings made by hand: what is timed on an A30, on a CPU, and how each case ends."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from profiles.timing import EmptyGraph, Environment, ProfileRun, Status, Timing
from storage.corpus import Corpus
from storage.records import rows_to_table
from storage.timing_records import timing_tables

A30, CPU = "cuda:NVIDIA A30:GPU-1", "cpu:Xeon"
OVERHEAD_US = 100.0
EAGER_EMPTY_US, EMPTY_US = 10.0, 110.0


@dataclass(frozen=True, slots=True)
class Case:
    """One instance: its ops, and under eager and inductor the latency and kernel time in microseconds on the A30."""

    name: str
    ops: tuple[str, ...]
    eager_us: float
    latency_us: float | None
    eager_device_us: float
    device_us: float | None
    status: Status = Status.OK
    stable: bool = True
    max_abs_diff: float = 0.0
    tolerance_level: int | None = -10
    family: str = "vit"
    dtype: str = "float32"

    @property
    def bitwise_equal(self) -> bool:
        return self.max_abs_diff == 0.0


def _ops(count: int, first: str = "linear") -> tuple[str, ...]:
    return (first, *["add"] * (count - 1))


CASES = (
    # name, ops, eager and inductor end to end, eager and inductor on the device
    Case("tiny", _ops(3), 50.0, 125.0, 10.0, 8.0),
    Case("small", _ops(9), 90.0, 100.0, 60.0, 40.0),
    Case("small_degraded", _ops(14), 90.0, 120.0, 60.0, 80.0, max_abs_diff=5e-7, tolerance_level=-7),
    Case("dispatch", _ops(20), 400.0, 440.0, 300.0, 200.0, max_abs_diff=5e-5, tolerance_level=-5),
    Case("large_degraded", _ops(30), 5000.0, 6000.0, 4900.0, 5900.0, max_abs_diff=2e-3, tolerance_level=-3),
    Case("marginal", _ops(50), 5000.0, 5050.0, 4900.0, 4900.0, family="resnet"),
    Case("even", _ops(51), 3000.0, 3000.0, 2900.0, 2700.0, family="resnet"),
    Case(
        "fast", _ops(16, "conv2d"), 900.0, 300.0, 850.0, 200.0, family="resnet", max_abs_diff=0.5, tolerance_level=None
    ),
    Case("faster", _ops(33, "conv2d"), 2000.0, 500.0, 1900.0, 400.0, family="resnet", dtype="float16"),
    Case("noisy", _ops(5), 40.0, 90.0, 9.0, 8.0, stable=False),
    Case("broken", _ops(6), 40.0, None, 9.0, None, status=Status.COMPILE_FAILED),
    Case("wrong", _ops(7), 40.0, 20.0, 9.0, 4.0, status=Status.NOT_FINITE),
)
VALID = tuple(case for case in CASES if case.status == Status.OK and case.stable)

ENVIRONMENTS = {
    device: Environment(
        device_id=device,
        device_kind="cuda" if device == A30 else "cpu",
        device_name=device.split(":")[1],
        driver="570.86" if device == A30 else None,
        cuda_version="12.8" if device == A30 else None,
        compute_capability="8.0" if device == A30 else None,
        num_sm=56 if device == A30 else None,
        memory_bytes=24 << 30,
        cache_bytes=24 << 20,
        torch_version="2.14.1",
        triton_version="3.8.0",
        python_version="3.12.3",
        os="Linux 6.8",
        num_threads=2,
        pinned_cpus=(0, 1),
        host_memory="glibc 2.36, freed memory kept",
    )
    for device in (A30, CPU)
}


def timing(case: Case, backend: str, device: str, run_id: str = "run-1", **changes: Any) -> Timing:
    """Return what a run would store of a case; the other backends than eager are inductor."""
    is_eager, is_cuda = backend == "eager", device == A30
    latency_us = case.eager_us if is_eager else case.latency_us
    is_compared = not is_eager and case.status == Status.OK
    fields = {
        "instance_sha256": case.name,
        "backend": backend,
        "device_id": device,
        "environment_sha256": ENVIRONMENTS[device].environment_sha256,
        "run_id": run_id,
        "cache": "cold",
        "status": Status.OK if is_eager else case.status,
        "detail": None if is_eager or case.status == Status.OK else f"{case.name} went wrong",
        "latency_us": latency_us,
        "iqr_frac": None if latency_us is None else 0.02 if case.stable or is_eager else 0.4,
        "device_us": (case.eager_device_us if is_eager else case.device_us) if is_cuda else None,
        "num_kernels": len(case.ops) if is_cuda and is_eager else None,
        "compile_s": None if is_eager else 2.0,
        "warmup": 20,
        "repeats": 100,
        "calls_per_trial": None if latency_us is None else 3,
        "attempts": 1 if case.stable else 5,
        "stable": None if latency_us is None else case.stable or is_eager,
        "bitwise_equal": case.bitwise_equal if is_compared else None,
        "max_abs_diff": case.max_abs_diff if is_compared else None,
        "tolerance_level": case.tolerance_level if is_compared else None,
        "blocks": (0, 3) if is_eager else (1, 2),
        "seconds": 0.5 if is_eager else 2.5,
    }
    return Timing(**(fields | changes))


def profile_run(device: str, run_id: str = "run-1", day: int = 1) -> ProfileRun:
    """Return a run whose empty graph costs inductor `OVERHEAD_US` more than eager."""
    is_cuda = device == A30
    return ProfileRun(
        run_id=run_id,
        device_id=device,
        environment_sha256=ENVIRONMENTS[device].environment_sha256,
        started_at=datetime(2026, 1, day, tzinfo=UTC),
        clock_mhz=1440.0 if is_cuda else None,
        memory_clock_mhz=1215.0 if is_cuda else None,
        temperature_c=41.0 if is_cuda else None,
        throttle_reasons=() if is_cuda else None,
        load_1m=0.5,
        config="{}",
        empty_us=(
            EmptyGraph("eager", EAGER_EMPTY_US, 0.0 if is_cuda else None),
            EmptyGraph("inductor", EMPTY_US, 0.0 if is_cuda else None),
        ),
    )


def write_profiles(path: Path, devices: tuple[str, ...] = (A30, CPU)) -> Corpus:
    """Return a corpus with the cases timed on some devices, their instances, subgraphs and models, and nothing else."""
    timings = [
        timing(case, backend, device) for device in devices for case in CASES for backend in ("eager", "inductor")
    ]
    tables = timing_tables(timings, [ENVIRONMENTS[device] for device in devices], map(profile_run, devices))
    tables["instances"] = rows_to_table("instances", [_instance(case) for case in CASES])
    tables["subgraphs"] = rows_to_table("subgraphs", [_subgraph(case, kind) for case in CASES for kind in _kinds(case)])
    families = sorted({case.family for case in CASES})
    models = [
        {"model_id": f"timm/{family}", "source": "timm", "framework": "torch", "family": family, "domain": "cv"}
        for family in families
    ]
    tables["models"] = rows_to_table("models", models)
    with Corpus.create(path) as corpus:
        corpus.commit(corpus.stage(tables, "run-1"), "run-1")
    return Corpus.open(path)


def _kinds(case: Case) -> tuple[str, ...]:
    return ("classical", "fusible") if case.name == "tiny" else ("classical",)


def _instance(case: Case) -> dict[str, Any]:
    return {
        "subgraph_sha256": f"sub_{case.name}",
        "shape_config": 0,
        "dtype": case.dtype,
        "instance_sha256": case.name,
        "structure_sha256": "structure",
        "model_id": f"timm/{case.family}",
        "signature_sha256": "signature",
        "start": 2,
        "end": 2 + len(case.ops),
        "operands": [],
        "overrides": "[]",
        "num_bytes": None if case.name == "wrong" else 933_000_000,  # a millisecond of an A30's memory
        "num_flop": 165e9 if case.name == "faster" else 164e9 if case.name == "fast" else 10.3e6,
    }


def _subgraph(case: Case, kind: str) -> dict[str, Any]:
    return {
        "subgraph_sha256": f"sub_{case.name}",
        "kind": kind,
        "op_sequence": case.ops,
        "op_sequence_xxh3": case.name,
        "num_ops": len(case.ops),
        "num_inputs": 1,
        "connected": True,
    }
