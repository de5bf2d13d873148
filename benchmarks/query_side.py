"""One stock query on one side, in a process of its own: a warm-up, then timed runs; prints one JSON object.

DuckDB opens the corpus as an analyst does, `corpus.duckdb` read-only, with 4 GiB and two threads; polars scans the
same files lazily, with as many threads.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

from benchmarks.memory import peak_rss_bytes

THREADS: Final = 2
MEMORY_LIMIT: Final = "4GiB"

Rows = Sequence[Sequence[Any]]


def duckdb_runner(name: str, corpus: Path) -> Callable[[], Rows]:
    """Return a call that runs the query in DuckDB and fetches all rows."""
    import duckdb

    from storage.stock import stock_query

    sql = stock_query(name).sql
    config: dict[str, Any] = {"memory_limit": MEMORY_LIMIT, "threads": THREADS}
    connection = duckdb.connect(str(corpus / "corpus.duckdb"), read_only=True, config=config)
    connection.execute("SET TimeZone = 'UTC'")
    return lambda: connection.execute(sql).fetchall()


def polars_runner(name: str, corpus: Path) -> Callable[[], Rows]:
    """Return a call that runs the query in polars and collects all rows."""
    os.environ["POLARS_MAX_THREADS"] = str(THREADS)
    import polars as pl

    from benchmarks.peers.polars_queries import POLARS_QUERIES
    from storage.corpus import Corpus

    manifest = Corpus.open(corpus).manifest()

    def scan(table: str) -> pl.LazyFrame:
        return pl.scan_parquet([corpus / shard.path for shard in manifest.shards(table)], hive_partitioning=False)

    return lambda: POLARS_QUERIES[name](scan).collect().rows()


RUNNERS: Final = {"duckdb": duckdb_runner, "polars": polars_runner}


def main() -> None:
    """Time one query and print seconds of each run, the rows and the peak resident memory of this process."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("side", choices=sorted(RUNNERS))
    parser.add_argument("name")
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    run = RUNNERS[options.side](options.name, options.corpus)
    rows, seconds = run(), list[float]()
    for _ in range(options.repeats):
        start = time.perf_counter()
        rows = run()
        seconds.append(time.perf_counter() - start)
    peak = peak_rss_bytes()
    print(json.dumps({"seconds": seconds, "peak_rss_bytes": peak, "rows": rows}, default=str))


if __name__ == "__main__":
    main()
