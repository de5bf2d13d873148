"""Two refreshes at once into one corpus: both commit, and nothing is lost or doubled.

Of 100 models the first run gets the first two thirds and the second the last two thirds, so a third is in both. The
keys of every table are compared with those of one run over all models; `fsck --deep` must find nothing.

The peer is the one run over all, so `ratio=` is its wall time over that of the two at once; 0 when anything differs.
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.refresh_runs import (
    NUM_MODELS,
    RUN_SECONDS_MAX,
    compare_keys,
    problems,
    run_to_end,
    start_refresh,
    write_model_list,
)
from benchmarks.report import make_parser, print_report

SEED = 8


def write_halves(folder: Path, names: list[str]) -> tuple[Path, Path]:
    """Write the two overlapping lists and return their paths."""
    third = len(names) // 3
    paths = folder / "first.txt", folder / "second.txt"
    for path, chosen in zip(paths, (names[: len(names) - third], names[third:]), strict=True):
        path.write_text("".join(f"{name}\n" for name in chosen), encoding="utf-8")
    return paths


def run_both(corpus: Path, lists: tuple[Path, Path]) -> tuple[float, list[int]]:
    """Start both at once; return the wall time of the pair and their exit codes."""
    start = time.monotonic()
    runs = [start_refresh(corpus, models, ["--workers", "1"]) for models in lists]
    codes = [run.wait(RUN_SECONDS_MAX) for run in runs]
    return time.monotonic() - start, codes


def main() -> None:
    """Run and print."""
    parser = make_parser(__doc__)
    parser.add_argument("--limit", type=int, default=NUM_MODELS, help="number of models")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="passnet-concurrent-") as name:
        folder = Path(name)
        names = write_model_list(folder / "models.txt", options.limit, SEED)
        one_s = run_to_end(folder / "one", folder / "models.txt", ["--workers", "2"])
        two_s, codes = run_both(folder / "two", write_halves(folder, names))
        found = [*compare_keys(folder / "two", folder / "one"), *problems(folder / "two")]
    found += [f"a run ended with code {code}" for code in codes if code != 0]
    figures: dict[str, Any] = {
        "num_models": options.limit,
        "one_run_s": one_s,
        "two_runs_s": two_s,
        "exit_codes": codes,
        "num_differences": len(found),
        "differences": found,
    }
    if not options.json and found:
        print("\n".join(found))
    print_report(figures, 0.0 if found else one_s / two_s, as_json=options.json)
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
