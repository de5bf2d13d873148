"""Trace the 45 models of data/models/trace45.txt: ours, the upstream method, and torch.export on meta tensors.

Total time of build, trace and write, all warm (one untimed model first), each side in a process of its own, one after
the other: `upstream` is `torch.compile(model, backend=capture, dynamic=True)` over real weights and a real forward,
`export` is `torch.export.export` of the model on meta tensors. All sides write the same files by the same code.
A model that a side fails on, or does not finish in five minutes, is left out of both sums of that pair.

`ratio=` is upstream over ours; `ratio_export=` in the line above it is export over ours. `--profile` runs our side
once more and tells where its time goes. Wall times suffer when the machine is busy: `load_average` (a pair, before and
after) tells, and each side's `cpu_s` (over all its threads) suffers less.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.model_list import TRACE45
from benchmarks.report import make_parser, print_report, print_table
from benchmarks.trace_side import SIDES

SIDE_SECONDS_MAX = 3600
ROOT = Path(__file__).resolve().parents[1]


@dataclass(frozen=True, slots=True)
class SideRun:
    """What one side logged: an entry per model, seconds of the one write at the end, and bytes written."""

    entries: dict[str, dict[str, Any]]
    write_s: float
    written_bytes: int
    peak_rss_bytes: int


def run_side(side: str, models: Path, limit: int | None) -> SideRun:
    """Run one side in a new process; raises RuntimeError when it ends badly, TimeoutExpired after an hour."""
    with tempfile.TemporaryDirectory(prefix="passnet-bench-") as folder:
        log, corpus = Path(folder, "log.jsonl"), Path(folder, "corpus")
        command = [sys.executable, "-m", "benchmarks.trace_side", side]
        command += ["--models", str(models), "--corpus", str(corpus), "--log", str(log)]
        command += ["--limit", str(limit)] if limit is not None else []
        run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=SIDE_SECONDS_MAX)
        if run.returncode != 0:
            raise RuntimeError(f"side {side} ended with code {run.returncode}: {run.stderr[-2000:]}")
        lines = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
        written_bytes = sum(path.stat().st_size for path in corpus.joinpath("timed").rglob("*.parquet"))
    entries = {line["model"]: line for line in lines if line["model"] is not None}
    peak = max((entry["peak_rss_bytes"] for entry in entries.values()), default=0)
    return SideRun(entries, lines[-1]["write_s"], written_bytes, peak)


def total_seconds(run: SideRun, names: set[str]) -> float:
    """Sum the models' times over `names`, and the write in proportion to how many of the models those are."""
    succeeded = sum(entry["error"] is None for entry in run.entries.values())
    share = len(names) / succeeded if succeeded else 0.0
    return sum(run.entries[name]["total_s"] for name in names) + run.write_s * share


def compare(ours: SideRun, peer: SideRun) -> float | None:
    """Return the peer's time over ours, over the models on which both succeeded; None when there is none."""
    names = {name for name in ours.entries if ours.entries[name]["error"] is None}
    names &= {name for name in peer.entries if peer.entries[name]["error"] is None}
    return total_seconds(peer, names) / total_seconds(ours, names) if names else None


def summarise(side: str, run: SideRun) -> dict[str, Any]:
    """Return the figures of one side, stages summed over the models."""
    stages: dict[str, float] = {}
    for entry in run.entries.values():
        for stage, seconds in entry["stages_s"].items():
            stages[stage] = stages.get(stage, 0.0) + seconds
    errors = {name: entry["error"] for name, entry in run.entries.items() if entry["error"]}
    return {
        f"{side}_total_s": sum(entry["total_s"] for entry in run.entries.values()) + run.write_s,
        f"{side}_cpu_s": sum(entry["cpu_s"] for entry in run.entries.values()),
        **{f"{side}_{stage}_s": seconds for stage, seconds in stages.items()},
        f"{side}_write_s": run.write_s,
        f"{side}_written_bytes": run.written_bytes,
        f"{side}_peak_rss_bytes": run.peak_rss_bytes,
        f"{side}_num_failed": len(errors),
        f"{side}_errors": errors,
    }


def model_rows(runs: dict[str, SideRun]) -> list[list[Any]]:
    """Return per model each side's seconds and number of ops (null where it failed), and graphs upstream."""
    rows: list[list[Any]] = []
    for name in runs["ours"].entries:
        entries = [runs[side].entries[name] for side in runs]
        cells = [cell for entry in entries for cell in (entry["total_s"], entry["num_ops"])]
        rows.append([name, *cells, *[entry["num_graphs"] for entry in entries]])
    return rows


def main() -> None:
    """Run the sides and print."""
    parser = make_parser(__doc__)
    parser.add_argument("--models", type=Path, default=TRACE45)
    parser.add_argument("--limit", type=int, help="only the first N models")
    parser.add_argument("--profile", action="store_true", help="also tell where our time goes")
    options = parser.parse_args()
    load_before = os.getloadavg()[0]
    runs = {side: run_side(side, options.models, options.limit) for side in SIDES}
    rows = model_rows(runs)
    header = ["model", *[f"{side} {unit}" for side in runs for unit in ("s", "ops")], *[f"{s} graphs" for s in runs]]
    figures: dict[str, Any] = {"num_models": len(rows)}
    figures["load_average"] = f"{load_before:.2f} {os.getloadavg()[0]:.2f}"
    for side, run in runs.items():
        figures |= summarise(side, run)
    figures["models"] = [dict(zip(header, row, strict=True)) for row in rows]
    if options.profile:
        from benchmarks.trace_profile import run_profile

        figures |= run_profile(options.models, options.limit)
    ratio, ratio_export = compare(runs["ours"], runs["upstream"]), compare(runs["ours"], runs["export"])
    if ratio is None or ratio_export is None:
        sys.exit("no model succeeded on both sides: " + json.dumps(figures["ours_errors"])[:500])
    if not options.json:
        print_table(header, rows)
        for side in runs:
            for name, error in figures[f"{side}_errors"].items():
                print(f"{side} failed on {name}: {error}")
    print_report(figures, ratio, as_json=options.json, other_ratios={"export": ratio_export})


if __name__ == "__main__":
    main()
