"""The tables of profiles: what was timed, the environments that times hold for, and the runs that took them.

Times differ between runs, but what a run measured is a fact about it: only the time spent is volatile.
"""

from __future__ import annotations

from typing import Final

import pyarrow as pa

from storage.columns import TIMESTAMP, column

EMPTY_GRAPH_TYPE: Final = pa.struct(
    [
        pa.field("backend", pa.string()),
        pa.field("latency_us", pa.float64()),
        pa.field("device_us", pa.float64()),
    ]
)

_DEVICE = "Device: cpu:<model>, or cuda:<name>:<uuid>."
_ENVIRONMENT = "Row of environments."
_RUN = "Run of `passnet profile`."
_CPU = "null on a CPU."
_UNTIMED = "null where no trials were timed."
_AGAINST = "null for eager and where outputs were not compared."

TIMINGS = pa.schema(
    [
        column("instance_sha256", pa.string(), "Instance that was timed.", null=False),
        column("backend", pa.string(), "What ran it: eager, inductor, ...", null=False),
        column("device_id", pa.string(), _DEVICE, null=False),
        column("environment_sha256", pa.string(), _ENVIRONMENT, null=False),
        column("run_id", pa.string(), _RUN, null=False),
        column(
            "cache",
            pa.string(),
            "Operands before each trial: cold (from a pool larger than the last-level cache; CUDA: that flushed) or "
            "warm (the same ones each time).",
            null=False,
        ),
        column(
            "status",
            pa.string(),
            "ok; with times too: not_finite, outputs_differ (in structure, shape or dtype), recompiles (in trials); "
            "without: unavailable, compile_failed, raised, crashed, timeout, out_of_memory.",
            null=False,
        ),
        column("detail", pa.string(), "Particulars of the status, one line; null when there are none."),
        column(
            "latency_us",
            pa.float64(),
            "Median of the trials of the steadiest attempt, microseconds, host included (CUDA: until the device has "
            f"finished); {_UNTIMED}",
        ),
        column("iqr_frac", pa.float64(), f"Interquartile range of these trials over their median; {_UNTIMED}"),
        column("device_us", pa.float64(), f"Median time of kernels alone on the device, microseconds; {_CPU}"),
        column("num_kernels", pa.int32(), "Kernels that one trial launches; null where not counted."),
        column("graph_breaks", pa.int32(), "Graph breaks of the compilation; null for eager and where not counted."),
        column("recompiles", pa.int32(), "Compilations after the first; null for eager and where not counted."),
        column("compile_s", pa.float64(), "Seconds to compile, in no latency; null for eager and where not compiled."),
        column("warmup", pa.int32(), "Runs before the trials.", null=False),
        column("repeats", pa.int32(), "Trials of an attempt.", null=False),
        column(
            "calls_per_trial",
            pa.int32(),
            f"Calls in a row that one trial times and shares its time out to; {_UNTIMED}, or before schema 12.",
        ),
        column("attempts", pa.int32(), "Times that the trials were run; the steadiest attempt is kept.", null=False),
        column("stable", pa.bool_(), f"Whether iqr_frac is at most 0.2; {_UNTIMED}"),
        column(
            "overhead_dominated",
            pa.bool_(),
            "Whether most of the latency is not the instance's own. CUDA: device_us below half of it; CPU: it is below "
            "twice the backend's latency on an empty graph. null where unknown.",
        ),
        column("mutates_inputs", pa.bool_(), "Whether a run changes its operands; null where it never ran."),
        column("bitwise_equal", pa.bool_(), f"Whether every output has the bytes of eager's; {_AGAINST}"),
        column(
            "max_abs_diff",
            pa.float64(),
            f"Largest difference from eager of any element of any output, in float64; {_AGAINST}",
        ),
        column("max_rel_diff", pa.float64(), f"The same, relative to eager's element; {_AGAINST}"),
        column(
            "tolerance_level",
            pa.int32(),
            "Smallest t in [-10, 0] at which every output is within atol(t) and rtol(t) of eager (definitions.md, "
            "section 6); null where there is none, for eager and where outputs were not compared.",
        ),
        column(
            "blocks",
            pa.list_(pa.int32()),
            "Places of this backend's blocks of trials among all backends' of the attempt, from 0: the random order.",
            null=False,
        ),
        column("seconds", pa.float64(), "Wall time spent on it, compilation included.", null=False, volatile=True),
    ]
)

ENVIRONMENTS = pa.schema(
    [
        column("environment_sha256", pa.string(), "Identity: SHA-256 of the other columns as JSON.", null=False),
        column("device_id", pa.string(), _DEVICE, null=False),
        column("device_kind", pa.string(), "cpu or cuda.", null=False),
        column("device_name", pa.string(), "Model of the device, as the driver or the processor says.", null=False),
        column("driver", pa.string(), f"Version of the GPU driver; {_CPU}"),
        column("cuda_version", pa.string(), f"CUDA that torch was built for; {_CPU}"),
        column("compute_capability", pa.string(), f"Such as 8.0; {_CPU}"),
        column("num_sm", pa.int32(), f"Streaming multiprocessors; {_CPU}"),
        column("memory_bytes", pa.int64(), "Memory of the device (of the host for a CPU), bytes; null if unknown."),
        column("cache_bytes", pa.int64(), "Last-level cache (CUDA: L2), bytes; null if unknown."),
        column("torch_version", pa.string(), "torch that ran the instances.", null=False),
        column("triton_version", pa.string(), "triton; null where it is not installed."),
        column("python_version", pa.string(), "Python of the timing process.", null=False),
        column("os", pa.string(), "Operating system and kernel.", null=False),
        column("num_threads", pa.int32(), "Threads that torch may use within an op; null if unknown."),
        column("pinned_cpus", pa.list_(pa.int32()), "CPUs that the process may run on; null where it was not pinned."),
        column(
            "host_memory",
            pa.string(),
            "C library that hands out memory, and whether what is freed stays with the process; null: not known.",
        ),
    ]
)

PROFILE_RUNS = pa.schema(
    [
        column("run_id", pa.string(), _RUN, null=False),
        column("device_id", pa.string(), _DEVICE, null=False),
        column("environment_sha256", pa.string(), _ENVIRONMENT, null=False),
        column("started_at", TIMESTAMP, "When it began on this device (UTC).", null=False),
        column("clock_mhz", pa.float64(), "Clock of the device then, MHz; null where it does not say."),
        column("memory_clock_mhz", pa.float64(), f"Clock of its memory then, MHz; {_CPU}"),
        column("temperature_c", pa.float64(), "Temperature then, degrees Celsius; null where it does not say."),
        column(
            "throttle_reasons",
            pa.list_(pa.string()),
            "Why its clocks were held down then, in the driver's words; empty: they were not; null: it does not say.",
        ),
        column("load_1m", pa.float64(), "Load average of the host over the minute before; null if unknown."),
        column("config", pa.string(), "Settings of the timer, and the backends, as JSON.", null=False),
        column(
            "empty_us",
            pa.list_(EMPTY_GRAPH_TYPE),
            "Fixed overhead of each backend: medians over a graph without ops, microseconds.",
            null=False,
        ),
    ]
)
