"""Fidelity: 200 timm models of up to 150 M parameters, own random weights, two inputs; is a replay the model's equal?

Models are drawn by seed, family by family in turn, so that all families are there. Each is traced on meta as in a
refresh, then replayed with the real weights beside the model itself. Children do the work, a few models each, and are
killed when one model takes too long. The log (benchmarks/out/replay.jsonl) is read again by the next run, which does
what is missing; `--fresh` starts over.

The peer is the eager model itself, so `ratio=` is the share of models whose replay is identical bit for bit (at
most 1).
"""

from __future__ import annotations

import json
import random
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from benchmarks.report import make_parser, print_report, print_table

ROOT = Path(__file__).resolve().parents[1]
LOG = ROOT / "benchmarks" / "out" / "replay.jsonl"
NUM_MODELS = 200
MAX_PARAMS = 150_000_000
MODELS_PER_CHILD = 10
MODEL_SECONDS_MAX = 180.0
SEED = 4


def candidate_names() -> list[str]:
    """Return all of timm's names in the order in which to try them: one of each family, then another of each, ..."""
    from extract.timm_source import list_models

    families: dict[str, list[str]] = {}
    for model in list_models():
        families.setdefault(model.family or "", []).append(model.model_id.removeprefix("timm/"))
    rng = random.Random(SEED)
    queues = [rng.sample(names, len(names)) for _, names in sorted(families.items())]
    return list(_round_robin(queues))


def _round_robin(queues: Sequence[Sequence[str]]) -> Iterator[str]:
    for turn in range(max(map(len, queues))):
        yield from (queue[turn] for queue in queues if turn < len(queue))


def read_log(path: Path) -> dict[str, dict[str, Any]]:
    """Return the last entry of each model; one that was only started counts as cut off and is absent."""
    if not path.exists():
        return {}
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.endswith("}")]
    return {line["model"]: line for line in lines if line["outcome"] != "started"}


def run_child(names: Sequence[str], log: Path) -> None:
    """Check some models in a child; when it dies or is too slow, note that of the model it was at."""
    command = [sys.executable, "-m", "benchmarks.replay_child", "--max-params", str(MAX_PARAMS), "--log", str(log)]
    child = subprocess.Popen([*command, *names], cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    size, changed = log.stat().st_size, time.monotonic()
    while child.poll() is None:
        time.sleep(0.2)
        if log.stat().st_size != size:
            size, changed = log.stat().st_size, time.monotonic()
        elif time.monotonic() - changed > MODEL_SECONDS_MAX:
            child.kill()
            child.wait()
    missing = [name for name in names if name not in read_log(log)]
    if missing:
        entry = {"model": missing[0], "outcome": "failed", "cause": f"the child ended with code {child.returncode}"}
        with log.open("a", encoding="utf-8") as lines:
            lines.write(json.dumps(entry) + "\n")


def check(num_models: int, log: Path) -> dict[str, dict[str, Any]]:
    """Check models until `num_models` of at most `MAX_PARAMS` parameters are done; return their entries."""
    log.parent.mkdir(parents=True, exist_ok=True)
    log.touch()
    names = candidate_names()
    while True:
        done = read_log(log)
        counted = [name for name in names if name in done and done[name]["outcome"] != "skipped"][:num_models]
        if len(counted) == num_models:
            return {name: done[name] for name in counted}
        waiting = [name for name in names if name not in done]
        if not waiting:
            return {name: done[name] for name in counted}
        run_child(waiting[: min(MODELS_PER_CHILD, num_models - len(counted))], log)


def main() -> None:
    """Check and print."""
    parser = make_parser(__doc__)
    parser.add_argument("--limit", type=int, default=NUM_MODELS, help="number of models")
    parser.add_argument("--log", type=Path, default=LOG)
    parser.add_argument("--fresh", action="store_true", help="forget the log of former runs")
    options = parser.parse_args()
    if options.fresh:
        options.log.unlink(missing_ok=True)
    entries = check(options.limit, options.log)
    identical = sum(entry["outcome"] == "identical" for entry in entries.values())
    others = {name: entry for name, entry in entries.items() if entry["outcome"] != "identical"}
    differences = [entry["max_rel_diff"] for entry in entries.values() if "max_rel_diff" in entry]
    figures: dict[str, Any] = {
        "num_models": len(entries),
        "num_identical": identical,
        "num_different": sum(entry["outcome"] == "different" for entry in entries.values()),
        "num_failed": sum(entry["outcome"] == "failed" for entry in entries.values()),
        "max_rel_diff": max(differences, default=None),
        "not_identical": others,
    }
    if not options.json and others:
        rows = [[name, entry["outcome"], entry.get("max_rel_diff"), entry["cause"]] for name, entry in others.items()]
        print_table(["model", "outcome", "max_rel_diff", "cause"], rows)
    print_report(figures, identical / max(len(entries), 1), as_json=options.json)


if __name__ == "__main__":
    main()
