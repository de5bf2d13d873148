"""Kill -9 at 20 random moments of a 100-model refresh: what a rerun heals equals an uninterrupted run.

Every fourth kill is injected between the rename of the shards and the manifest (PASSNET_FAULT), the others hit the
whole process group after a random time. The same command is started again each time; when one survives its moment the
corpus is complete, is compared, and the next kill falls on a new corpus. At the end the last corpus is completed.
Compared are all tables without volatile columns, sorted by key; `fsck --deep` must find nothing.

The peer is the uninterrupted run, so `ratio=` is the share of completed corpora that equal it and are clean (at most
1).
"""

from __future__ import annotations

import random
import signal
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.refresh_runs import (
    NUM_MODELS,
    RUN_SECONDS_MAX,
    compare_corpora,
    kill_group,
    problems,
    run_to_end,
    start_refresh,
    write_model_list,
)
from benchmarks.report import make_parser, print_report
from storage.corpus import Corpus

SEED = 6
INJECT_EVERY = 4
MIN_MOMENT_FRAC = 0.1  # before that a run only starts Prefect


@dataclass(slots=True)
class Tally:
    """What has happened so far; `differences` holds a line per finding, with the corpus that it is in."""

    num_killed: int = 0
    num_injected: int = 0
    num_completed: int = 0
    num_equal: int = 0
    differences: list[str] = field(default_factory=list)


def kill_once(corpus: Path, models: Path, rng: random.Random, run_seconds: float, inject: bool) -> bool:
    """Start a refresh and have it killed, by the fault point or from outside; return whether it was still at work."""
    if inject:
        fault = f"commit:before_manifest:{rng.randint(1, 3)}"
        run = start_refresh(corpus, models, env={"PASSNET_FAULT": fault})
        killed = run.wait(RUN_SECONDS_MAX) == -signal.SIGKILL
        kill_group(run)
        return killed
    run = start_refresh(corpus, models)
    until = time.monotonic() + rng.uniform(MIN_MOMENT_FRAC, 1.0) * run_seconds
    while run.poll() is None and time.monotonic() < until:
        time.sleep(0.02)
    is_running = run.poll() is None
    kill_group(run)
    return is_running


def check_completed(corpus: Path, reference: Path, tally: Tally) -> None:
    """Compare a corpus that a run completed with the uninterrupted one."""
    found = [*compare_corpora(corpus, reference), *problems(corpus)]
    tally.num_completed += 1
    tally.num_equal += not found
    tally.differences += [f"{corpus.name}: {line}" for line in found]


def run_trials(folder: Path, models: Path, num_kills: int, rng: random.Random) -> tuple[Tally, float]:
    """Kill `num_kills` runs and complete each corpus; return the tally and the uninterrupted run's seconds."""
    reference = folder / "uninterrupted"
    run_seconds = run_to_end(reference, models)
    tally = Tally()
    corpus = folder / "killed-0"
    while tally.num_killed < num_kills:
        inject = (tally.num_killed + 1) % INJECT_EVERY == 0
        if kill_once(corpus, models, rng, run_seconds, inject):
            tally.num_killed += 1
            tally.num_injected += inject
            print(f"kill {tally.num_killed} of {num_kills} in {corpus.name}", file=sys.stderr)
            if any(corpus.joinpath("manifests").glob("[0-9]*.json")):
                Corpus.open(corpus).close()
        else:
            run_to_end(corpus, models)
            check_completed(corpus, reference, tally)
            corpus = folder / f"killed-{tally.num_completed}"
    run_to_end(corpus, models)
    check_completed(corpus, reference, tally)
    return tally, run_seconds


def main() -> None:
    """Run the trials and print."""
    parser = make_parser(__doc__)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--limit", type=int, default=NUM_MODELS, help="number of models")
    parser.add_argument("--seed", type=int, default=SEED)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="passnet-kill-") as name:
        folder = Path(name)
        write_model_list(folder / "models.txt", options.limit, options.seed)
        start = time.monotonic()
        tally, run_seconds = run_trials(folder, folder / "models.txt", options.kills, random.Random(options.seed))
        elapsed = time.monotonic() - start
    figures: dict[str, Any] = {
        "num_models": options.limit,
        "uninterrupted_s": run_seconds,
        "all_runs_s": elapsed,
        "num_killed": tally.num_killed,
        "num_killed_before_manifest": tally.num_injected,
        "num_completed": tally.num_completed,
        "num_equal": tally.num_equal,
        "differences": tally.differences,
    }
    if not options.json:
        print("\n".join(tally.differences))
    print_report(figures, tally.num_equal / tally.num_completed, as_json=options.json)
    sys.exit(0 if tally.num_equal == tally.num_completed else 1)


if __name__ == "__main__":
    main()
