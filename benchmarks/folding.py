"""Recursive Folding of 100 K real tokens beside the paper's method done well, then ours alone on 1 M and 10 M.

Tokens are the op sequences of the distinct graphs of one or more corpora (`--corpus DIR ...`), or, without, of a
corpus that is refreshed for the purpose in a temporary folder, `--models N` models of the list that
`benchmarks.kill` uses; what they lack is made of variations of them (benchmarks/folding_tokens.py says how), and how
many are real is printed. Every side runs in a process of its own, one after the other, and is timed from op names to
patterns. Ours is warm: its compiled functions are compiled before, from nothing, which `ours_compile_s` tells apart.

Peers (benchmarks/peers/conv_folding.py): `conv`, float64 convolution hashes of all windows up to 64 and one flat unique
over them, on all cores; `conv_numpy`, the same with np.unique, which sorts; `conv_disjoint`, with the overlaps taken
out, so that it finds what ours finds. `ratio=` is `conv` over ours, medians; the lines above it are the other two.
Our folds of the same tokens are listed, with what `conv` took in their place; `scaling` is our time on the last of
`--sizes` over that on the first. Peaks of memory are those of the side's process, its op names included. Wall times
suffer when the machine is busy, `load_average` tells; `cpu_s`, over all threads, suffers less.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.folding_side import SIDES
from benchmarks.refresh_runs import ROOT, run_to_end, write_model_list
from benchmarks.report import make_parser, print_report, print_table
from storage.corpus import Corpus
from storage.errors import CorpusError

SEED = 5
SIDE_SECONDS_MAX = 1800


def run_side(side: str, corpora: Sequence[Path], num_tokens: int, cache: Path, arguments: Sequence[str]) -> Any:
    """Run one side in a new process and return what it printed; raises RuntimeError when it ends badly."""
    command = [sys.executable, "-m", "benchmarks.folding_side", side, "--corpus", *map(str, corpora)]
    command += ["--tokens", str(num_tokens), "--seed", str(SEED), *arguments]
    env = {**os.environ, "NUMBA_CACHE_DIR": str(cache)}
    run = subprocess.run(
        command, cwd=ROOT, env=env, capture_output=True, text=True, check=False, timeout=SIDE_SECONDS_MAX
    )
    if run.returncode != 0:
        raise RuntimeError(f"side {side} ended with code {run.returncode}: {run.stderr[-2000:]}")
    return json.loads(run.stdout)


def figures_of(name: str, side: dict[str, Any]) -> dict[str, Any]:
    """Return the scalar figures of one side, named after it."""
    seconds = statistics.median(side["seconds"])
    return {
        f"{name}_s": seconds,
        f"{name}_cpu_s": statistics.median(side["cpu_seconds"]),
        f"{name}_s_per_fold": seconds / max(1, len(side["patterns"])),
        f"{name}_num_folds": len(side["patterns"]),
        f"{name}_peak_rss_mib": side["peak_rss_bytes"] / 2**20,
        f"{name}_rss_before_mib": side["rss_before_bytes"] / 2**20,
        f"{name}_is_lossless": side["is_lossless"],
    }


def compare_patterns(ours: dict[str, Any], peer: dict[str, Any]) -> dict[str, int]:
    """Count our folds, those that the peer did alike (same symbols, same count), and the op strings in both."""
    pairs = zip(ours["patterns"], peer["patterns"], strict=False)
    alike = [a["body"] == b["body"] and a["count"] == b["count"] for a, b in pairs]
    shared = {tuple(a["ops"]) for a in ours["patterns"]} & {tuple(b["ops"]) for b in peer["patterns"]}
    return {
        "num_same_folds": sum(alike),
        "num_same_patterns": len(shared),
        "num_overlapping": sum(b["num_windows"] > b["count"] for b in peer["patterns"]),
        "ops_saved_ours": sum((len(p["body"]) - 1) * p["count"] for p in ours["patterns"]),
        "ops_saved_peer": sum((len(p["body"]) - 1) * p["count"] for p in peer["patterns"]),
    }


def pattern_rows(ours: dict[str, Any], peer: dict[str, Any]) -> list[list[Any]]:
    """Return a row per fold: ours, then the peer's length, count and windows, then our ops."""
    rows: list[list[Any]] = []
    others = [*peer["patterns"], *[{}] * len(ours["patterns"])]
    for number, (pattern, other) in enumerate(zip(ours["patterns"], others, strict=False)):
        cells = [pattern[key] for key in ("num_ops", "depth", "count", "score")]
        cells += [other.get(key) for key in ("num_ops", "count", "num_windows")]
        rows.append([f"{number:<3} {abbreviate(pattern['ops'])}", *cells])
    return rows


def abbreviate(ops: Sequence[str], width: int = 90) -> str:
    """Return op names in one line, with their period once when they are a repetition."""
    for period in range(1, len(ops) // 2 + 1):
        if len(ops) % period == 0 and list(ops[:period]) * (len(ops) // period) == list(ops):
            return f"{len(ops) // period} x ({abbreviate(ops[:period], width - 8)})"
    text = " ".join(ops)
    return text if len(text) <= width else f"{text[: width - 4]} ..."


def measure(corpora: Sequence[Path], options: Any) -> tuple[dict[str, Any], dict[str, float]]:
    """Run all sides; return the figures, and the ratio of each peer."""
    figures: dict[str, Any] = {"load_average_before": os.getloadavg()[0]}
    arguments = ["--folds", str(options.folds)]
    with tempfile.TemporaryDirectory(prefix="passnet-numba-") as name:
        repeats = [*arguments, "--repeats", str(options.repeats)]
        sides = {side: run_side(side, corpora, options.tokens, Path(name), repeats) for side in SIDES}
        scales = [run_side("ours", corpora, size, Path(name), repeats) for size in options.sizes]
    ours = sides["ours"]
    figures |= {key: ours[key] for key in ("num_tokens", "num_real_tokens", "num_sequences", "num_ops")}
    figures |= {"ours_compile_s": ours["compile_s"]}
    for side, found in sides.items():
        figures |= figures_of(side, found)
        if side != "ours":
            figures |= {f"{side}_{key}": value for key, value in compare_patterns(ours, found).items()}
    for size, found in zip(options.sizes, scales, strict=True):
        figures |= figures_of(f"ours_{size}", found) | {f"ours_{size}_num_real_tokens": found["num_real_tokens"]}
    if len(options.sizes) > 1:
        first, last = (f"ours_{options.sizes[index]}" for index in (0, -1))
        figures["scaling"] = figures[f"{last}_s"] / figures[f"{first}_s"]
        figures["scaling_cpu"] = figures[f"{last}_cpu_s"] / figures[f"{first}_cpu_s"]
    figures |= {"load_average_after": os.getloadavg()[0], "sides": sides, "scales": scales}
    return figures, {side: figures[f"{side}_s"] / figures["ours_s"] for side in SIDES if side != "ours"}


def read_sizes(text: str) -> list[int]:
    """Return numbers of tokens, `1000000,10000000`."""
    return [int(part) for part in text.split(",") if part]


def main() -> None:
    """Make a corpus where none is given, run and print."""
    parser = make_parser(__doc__)
    parser.add_argument("--corpus", type=Path, nargs="+", metavar="DIR", help="corpora to read")
    parser.add_argument("--models", type=int, default=300, help="without --corpus: models to trace first")
    parser.add_argument("--tokens", type=int, default=100_000, help="beside the peers")
    parser.add_argument("--sizes", type=read_sizes, default=[1_000_000, 10_000_000], help="ours alone, by commas")
    parser.add_argument("--folds", type=int, default=16)
    parser.add_argument("--repeats", type=int, default=3, help="of each side; the median counts")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="passnet-folding-") as name:
        corpora: list[Path] = options.corpus or [Path(name, "corpus")]
        if not options.corpus:
            write_model_list(Path(name, "models.txt"), options.models, SEED)
            run_to_end(corpora[0], Path(name, "models.txt"))
        try:
            num_graphs = sum(Corpus.open(path).read("graphs", ["num_ops"]).num_rows for path in corpora)
        except CorpusError as error:
            parser.error(str(error))
        if not num_graphs:
            parser.error(f"{', '.join(map(str, corpora))}: no graphs; run passnet refresh first")
        figures, ratios = measure(corpora, options)
    if not options.json:
        header = ["ours", "ops", "depth", "count", "score", "conv ops", "conv count", "conv windows"]
        print_table(header, pattern_rows(figures["sides"]["ours"], figures["sides"]["conv"]))
    print_report(figures, ratios.pop("conv"), as_json=options.json, other_ratios=ratios)


if __name__ == "__main__":
    main()
