"""Our medians with warm operands beside those of `torch.utils.benchmark`, instance by instance, in one process.

`--instances` of the corpus are drawn by seed, kinds and dtypes in turns, less those that write into their operands,
which the peer would feed what the last call left. Each is timed in eager mode and under Inductor by `profiles`
(cache=warm) and by the peer's `Timer.blocked_autorange`, in turns, `--rounds` times; compared are the medians over the
rounds. A pair further apart than a tenth is listed with the spread of either side over its rounds: where a side does
not repeat itself, the machine is to blame. `ratio=` is the peer's median spread over ours.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.report import make_parser, print_report, print_table

_WITHIN = 0.1


@dataclass(frozen=True, slots=True)
class Pair:
    """Medians of one instance under one backend, in microseconds, by round: ours and the peer's."""

    instance: str
    backend: str
    ours: list[float]
    peers: list[float]

    @property
    def apart(self) -> float:
        """How far the medians over the rounds are apart, as a share of the peer's."""
        return abs(median(self.ours) / median(self.peers) - 1)


def main() -> None:
    """Measure, print the figures and, last, `ratio=`."""
    parser = make_parser(__doc__)
    parser.add_argument("--corpus", type=Path, required=True)
    parser.add_argument("--instances", type=int, default=50)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--max-bytes", type=int, default=1 << 24, help="draw none that moves more")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    os.environ.setdefault("TORCHINDUCTOR_CACHE_DIR", tempfile.mkdtemp(prefix="passnet-inductor-"))
    pairs = list(_pairs(options))
    far = [pair for pair in pairs if pair.apart > _WITHIN]
    if far:
        columns = ("instance", "backend", "ours_us", "peer_us", "our_spread", "peer_spread")
        print_table(columns, [_row(pair) for pair in far])
    figures = {
        "num_instances": len({pair.instance for pair in pairs}),
        "num_pairs": len(pairs),
        "within_a_tenth_frac": 1 - len(far) / max(len(pairs), 1),
        "median_apart": median(pair.apart for pair in pairs),
        "our_median_spread": median(_spread(pair.ours) for pair in pairs),
        "peer_median_spread": median(_spread(pair.peers) for pair in pairs),
    }
    print_report(figures, figures["peer_median_spread"] / max(figures["our_median_spread"], 1e-9), as_json=options.json)


def _pairs(options: Any) -> Iterator[Pair]:
    import torch

    from profiles.device import pin_threads
    from profiles.host_memory import keep_freed_memory
    from storage.corpus import Corpus
    from storage.profile_candidates import ProfileChoice, find_candidates, stored_programs
    from storage.records import program_from_bytes

    pin_threads(1)
    keep_freed_memory()
    num_found = 0
    with Corpus.open(options.corpus) as corpus:
        choice = ProfileChoice(max_bytes=options.max_bytes, seed=options.seed)
        for name, program in stored_programs(corpus, find_candidates(corpus, choice, "", (), "")):
            if num_found == options.instances:
                return
            with torch.no_grad():
                pairs = _time_both(name, program_from_bytes(program), options)
            num_found += bool(pairs)
            yield from pairs


def _time_both(name: str, graph: Any, options: Any) -> list[Pair]:
    import torch

    from extract.recorded_outputs import record_outputs
    from profiles.backends import choose_backends, find_backends
    from profiles.clock import HostClock
    from profiles.instance_profile import ProfileConfig, profile_instance
    from profiles.instance_run import instance_recipe, make_operands
    from profiles.kernels.program import module_of

    device, config = torch.device("cpu"), ProfileConfig(cache="warm", seed=options.seed)
    backends = choose_backends(("inductor",), find_backends())
    operands = make_operands(graph, instance_recipe(graph, options.seed))
    module = module_of(record_outputs(graph), "cpu")
    found = {backend.name: Pair(name[:12], backend.name, [], []) for backend in backends}
    for _ in range(options.rounds):
        profiles = profile_instance(graph, backends, device, config, HostClock())
        if any(profile.measurement is None or profile.mutates_inputs for profile in profiles):
            return []
        for backend, profile in zip(backends, profiles, strict=True):
            ours = profile.measurement.median_us if profile.measurement else None
            found[backend.name].ours.append(ours or 0.0)
            found[backend.name].peers.append(_time_by_peer(backend.build(module, operands), operands))
    return list(found.values())


def _time_by_peer(runner: Any, operands: Sequence[Any]) -> float:
    from torch.utils.benchmark import Timer

    runner(*operands)
    timer = Timer("runner(*operands)", globals={"runner": runner, "operands": operands}, num_threads=1)
    return timer.blocked_autorange(min_run_time=0.5).median * 1e6


def _spread(values: Sequence[float]) -> float:
    return (max(values) - min(values)) / median(values)


def _row(pair: Pair) -> tuple[object, ...]:
    times = (f"{median(side):.1f}" for side in (pair.ours, pair.peers))
    spreads = (f"{_spread(side):.2f}" for side in (pair.ours, pair.peers))
    return pair.instance, pair.backend, *times, *spreads


if __name__ == "__main__":
    main()
