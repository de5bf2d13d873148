"""Instances timed twice, in separate runs and processes: how far the two medians are apart.

`--instances` of the corpus, drawn by seed from those that were timed there before on this kind of device, so that
`--decade` of them take less than 100 us in eager mode and as many more than 10 ms; the rest lie between. Both runs give
each at most five attempts. Compared are latencies of eager mode and of Inductor, stable ones and others.

The peer is `torch.utils.benchmark`'s `timeit` of as many calls in a row as ours has trials, in eager mode, once beside
either run; `ratio=` is the peer's median distance over ours.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path
from statistics import median, quantiles
from typing import Any

from benchmarks.report import make_parser, print_report, print_table

_FAST_US, _SLOW_US = 100.0, 10_000.0


def main() -> None:
    """Measure, print the figures and, last, `ratio=`."""
    parser = make_parser(__doc__)
    parser.add_argument("--corpus", type=Path, required=True)
    parser.add_argument("--instances", type=int, default=100)
    parser.add_argument("--decade", type=int, default=20, help="below 100 us and above 10 ms, each")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    chosen, programs = _choose(options)
    peers = [_peer_medians(programs, options.seed)]
    first = _run(programs, options.seed)
    peers.append(_peer_medians(programs, options.seed))
    second = _run(programs, options.seed)
    both = sorted(key for key in first if key in second)
    distances = {key: abs(second[key][0] / first[key][0] - 1) for key in both}
    peer = [abs(peers[1][name] / peers[0][name] - 1) for name in peers[0] if name in peers[1]]
    strata = [(backend, decade) for backend in ("eager", "inductor") for decade in _DECADES]
    rows = [_row(*stratum, both, distances, first, chosen) for stratum in strata]
    print_table(("backend", "eager_us", "timings", "median", "p90", "stable_frac"), rows)
    figures = {
        "num_instances": len(programs),
        "num_timings": len(both),
        "median_distance": median(distances.values()),
        "p90_distance": quantiles(distances.values(), n=10)[-1],
        "stable_frac": sum(first[key][1] and second[key][1] for key in both) / max(len(both), 1),
        "peer_median_distance": median(peer),
        "peer_p90_distance": quantiles(peer, n=10)[-1],
    }
    print_report(figures, figures["peer_median_distance"] / max(figures["median_distance"], 1e-9), as_json=options.json)


_DECADES = ((0.0, _FAST_US), (_FAST_US, 1_000.0), (1_000.0, _SLOW_US), (_SLOW_US, float("inf")))

Times = dict[tuple[str, str], tuple[float, bool]]


def _choose(options: Any) -> tuple[dict[str, float], dict[str, bytes]]:
    """Return the instances drawn with their eager latency as it was timed before, and their programs."""
    from storage.corpus import Corpus
    from storage.profile_candidates import stored_programs

    with Corpus.open(options.corpus) as corpus:
        rows = corpus.read("timings", ["instance_sha256", "backend", "latency_us", "status"]).to_pylist()
        known = {row["instance_sha256"]: row["latency_us"] for row in rows if row["backend"] == "eager"}
        known = {name: known[name] for name in sorted(known) if known[name] is not None}
        names = list(known)
        random.Random(options.seed).shuffle(names)
        fast = [name for name in names if known[name] < _FAST_US][: options.decade]
        slow = [name for name in names if known[name] > _SLOW_US][: options.decade]
        if min(len(fast), len(slow)) < options.decade:
            raise SystemExit(
                f"{options.corpus} has timings of {len(fast)} fast and {len(slow)} slow instances: time more"
            )
        taken = {*fast, *slow}
        rest = [name for name in names if name not in taken and _FAST_US <= known[name] <= _SLOW_US]
        chosen = [*fast, *slow, *rest[: options.instances - len(taken)]]
        return {name: known[name] for name in chosen}, dict(stored_programs(corpus, chosen))


def _run(programs: dict[str, bytes], seed: int) -> Times:
    """Time all in a child of their own; return latency and whether it is stable, by instance and backend."""
    from profiles.supervised import DeviceSession, ProfileJob, new_run_id

    times: Times = {}
    job = ProfileJob(new_run_id(), "cpu", seed=seed)
    with DeviceSession(job) as session:
        for name, program in programs.items():
            for timing in session.time(name, program):
                if timing.latency_us is not None:
                    times[name, timing.backend] = timing.latency_us, bool(timing.stable)
    return times


def _peer_medians(programs: dict[str, bytes], seed: int) -> dict[str, float]:
    import torch
    from torch.utils.benchmark import Timer

    from extract.recorded_outputs import record_outputs
    from profiles.host_memory import keep_freed_memory
    from profiles.instance_run import instance_recipe, make_operands
    from profiles.kernels.program import module_of
    from storage.records import program_from_bytes

    torch.set_num_threads(1)
    keep_freed_memory()  # as ours does
    medians: dict[str, float] = {}
    with torch.no_grad():
        for name, program in programs.items():
            graph = program_from_bytes(program)
            operands = make_operands(graph, instance_recipe(graph, seed))
            module = module_of(record_outputs(graph), "cpu")
            timer = Timer("module(*operands)", globals={"module": module, "operands": operands}, num_threads=1)
            once = timer.timeit(1).median
            medians[name] = timer.timeit(max(min(100, int(10 / max(once, 1e-6))), 3)).median
    return medians


def _row(
    backend: str,
    decade: tuple[float, float],
    both: Sequence[tuple[str, str]],
    distances: dict[tuple[str, str], float],
    first: Times,
    eager_us: dict[str, float],
) -> tuple[object, ...]:
    keys = [key for key in both if key[1] == backend and decade[0] <= eager_us[key[0]] < decade[1]]
    found = sorted(distances[key] for key in keys)
    if not found:
        return backend, f"{decade[0]:g} to {decade[1]:g}", 0, "", "", ""
    stable = sum(first[key][1] for key in keys) / len(keys)
    last = found[min(int(0.9 * len(found)), len(found) - 1)]
    return backend, f"{decade[0]:g} to {decade[1]:g}", len(keys), f"{median(found):.1%}", f"{last:.1%}", f"{stable:.0%}"


if __name__ == "__main__":
    main()
