"""Every stock query (docs/queries.md) over a synthetic corpus of 20,000 graphs and 10 M nodes.

The corpus is made once, of variants of real graphs (`benchmarks.synthetic_corpus`: about ten minutes of one
core), and kept in `--corpus` for later runs; the real graphs come from `--from`, by default from a refresh of the
starter list beside it. Each query runs in a process of its own: one warm-up, then the median of five, with DuckDB at
4 GiB and two threads; `peak` is that process's largest resident memory.

The peer is polars, lazily over the same files with as many threads, for the queries that
`benchmarks.peers.polars_queries` holds; its rows must be equal. `ratio=` is polars' seconds over DuckDB's, summed over
the queries that both ran; a query that polars does not finish in five minutes is left out of both sums.
"""

from __future__ import annotations

import json
import logging
import math
import os
import statistics
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from benchmarks.peers.polars_queries import POLARS_QUERIES
from benchmarks.refresh_runs import STARTER, run_to_end
from benchmarks.report import make_parser, print_report, print_table
from benchmarks.synthetic_corpus import synthesise
from storage.corpus import Corpus
from storage.errors import UsageError
from storage.stock import STOCK_QUERIES, render_page

ROOT = Path(__file__).resolve().parents[1]
CORPUS: Final = ROOT / "benchmarks" / "out" / "query-corpus"
NUM_GRAPHS: Final = 20_000
NUM_NODES: Final = 10_000_000
SECONDS_MAX: Final = 1.0
RUN_SECONDS_MAX: Final = 300.0


@dataclass(frozen=True, slots=True)
class SideRun:
    """Median seconds of one query on one side, its rows, and the peak resident memory of its process."""

    seconds: float
    rows: list[list[Any]]
    peak_rss_bytes: int


def run_side(side: str, name: str, corpus: Path, repeats: int) -> SideRun | None:
    """Run one query in a new process; None when it takes more than five minutes; raises RuntimeError when it fails."""
    command = [sys.executable, "-m", "benchmarks.query_side", side, name, str(corpus), "--repeats", str(repeats)]
    try:
        run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=RUN_SECONDS_MAX)
    except subprocess.TimeoutExpired:
        return None
    if run.returncode != 0:
        raise RuntimeError(f"{side} failed on {name}: {run.stderr[-2000:]}")
    told = json.loads(run.stdout)
    return SideRun(statistics.median(told["seconds"]), told["rows"], told["peak_rss_bytes"])


def same_rows(left: Sequence[Sequence[Any]], right: Sequence[Sequence[Any]]) -> bool:
    """Tell whether two answers are equal, floats up to rounding, in whatever order."""
    if len(left) != len(right):
        return False
    pairs = zip(sorted(left, key=_without_floats), sorted(right, key=_without_floats), strict=True)
    return all(len(ours) == len(theirs) and all(map(_same, ours, theirs)) for ours, theirs in pairs)


def _without_floats(row: Sequence[Any]) -> str:
    return repr([value for value in row if not isinstance(value, float)])


def _same(left: Any, right: Any) -> bool:
    if isinstance(left, float) or isinstance(right, float):
        return math.isclose(left, right, rel_tol=1e-9)
    return left == right


def make_corpus(path: Path, sources: list[Path], num_graphs: int, num_nodes: int) -> None:
    """Synthesise the corpus, of a new starter corpus beside it when no source is given."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if not sources:
        sources = [path.with_name(path.name + "-starter")]
        run_to_end(sources[0], STARTER)
    synthesise(sources, path, num_graphs, num_nodes)


def size_figures(corpus: Corpus) -> dict[str, Any]:
    """Return what the corpus holds and how it is laid out."""
    manifest = corpus.manifest()
    shards = [shard for table in manifest.tables.values() for shard in table]
    return {
        "num_graphs": manifest.rows("graphs"),
        "num_nodes": manifest.rows("nodes"),
        "num_models": manifest.rows("models"),
        "num_shards": len(shards),
        "corpus_bytes": sum(shard.bytes for shard in shards),
        "nodes_bytes": sum(shard.bytes for shard in manifest.shards("nodes")),
    }


def main() -> None:
    """Make the corpus where it is missing, run both sides and print."""
    parser = make_parser(__doc__)
    parser.add_argument("--corpus", type=Path, default=CORPUS, help="folder of the synthetic corpus, kept")
    parser.add_argument(
        "--from", dest="sources", type=Path, action="append", default=[], help="real corpus; repeatable"
    )
    parser.add_argument("--graphs", type=int, default=NUM_GRAPHS)
    parser.add_argument("--nodes", type=int, default=NUM_NODES)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--queries", nargs="+", choices=STOCK_QUERIES, default=list(STOCK_QUERIES), metavar="NAME")
    parser.add_argument("--page", type=Path, help="only write docs/queries.md there")
    options = parser.parse_args()
    if options.page:
        options.page.write_text(render_page(), encoding="utf-8")
        return
    logging.basicConfig(level=logging.INFO, stream=sys.stderr, format="%(message)s")
    try:
        if not options.corpus.exists():
            make_corpus(options.corpus, options.sources, options.graphs, options.nodes)
        corpus = Corpus.open(options.corpus)
    except UsageError as error:
        sys.exit(str(error))
    load_before = os.getloadavg()[0]
    ours = {name: run_side("duckdb", name, options.corpus, options.repeats) for name in options.queries}
    peer = {
        name: run_side("polars", name, options.corpus, options.repeats)
        for name in options.queries
        if name in POLARS_QUERIES
    }
    report(corpus, ours, peer, load_before, as_json=options.json)


def report(
    corpus: Corpus, ours: dict[str, SideRun | None], peer: dict[str, SideRun | None], load: float, *, as_json: bool
) -> None:
    """Print the table and the figures; exits with 1 where both sides answer differently."""
    lines = [(name, run, peer.get(name)) for name, run in ours.items() if run is not None]
    header = ["query", "s", "rows", "peak MiB", "polars s", "polars peak MiB"]
    rows = [
        [
            name,
            run.seconds,
            len(run.rows),
            run.peak_rss_bytes >> 20,
            other and other.seconds,
            other and other.peak_rss_bytes >> 20,
        ]
        for name, run, other in lines
    ]
    both = [(name, run, other) for name, run, other in lines if other is not None]
    different = [name for name, run, other in both if not same_rows(run.rows, other.rows)]
    seconds = [run.seconds for _, run, _ in lines]
    figures = size_figures(corpus) | {
        "num_queries": len(ours),
        "num_over_1_s": len(ours) - sum(value <= SECONDS_MAX for value in seconds),
        "slowest_s": max(seconds, default=None),
        "peak_rss_bytes": max((run.peak_rss_bytes for _, run, _ in lines), default=None),
        "num_peer_queries": len(both),
        "different_answers": different,
        "load_average": f"{load:.2f} {os.getloadavg()[0]:.2f}",
        "queries": [dict(zip(header, row, strict=True)) for row in rows],
    }
    if not as_json:
        print_table(header, rows)
        if different:
            print(f"polars answers differently: {', '.join(different)}")
    ratio = sum(other.seconds for *_, other in both) / max(sum(run.seconds for _, run, _ in both), 1e-9)
    print_report(figures, ratio, as_json=as_json)
    sys.exit(1 if different else 0)


if __name__ == "__main__":
    main()
