"""One side of `benchmarks.trace`, in a process of its own: models in, a corpus and a log of times out.

`python -m benchmarks.trace_side SIDE --models FILE --corpus DIR --log FILE`. Two untimed warm-up models first. Each
side makes graphs in its own way; the files (hashes, text, table rows, Parquet shards, one manifest) come from
the same code as those of a refresh. Times are wall time; the log holds one JSON line per model and one for the write.
A model that takes longer than five minutes is a failure of that side.
"""

from __future__ import annotations

import argparse
import gc
import json
import resource
import signal
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import torch

from benchmarks.model_list import read_names
from benchmarks.stopwatch import Stopwatch
from extract.model_ref import ModelRef, Trace
from storage.corpus import Corpus
from storage.records import trace_tables

WARM_UP_MODELS = ("timm/resnet18", "transformers/distilbert")
MODEL_SECONDS_MAX = 300.0
SIDES = ("ours", "upstream", "export")

Tracer = Callable[[str, Stopwatch], list[Trace]]


def trace_ours(name: str, stopwatch: Stopwatch) -> list[Trace]:
    """Trace as a refresh does: built on meta, recorded by the function mode."""
    from extract.model_tracing import TraceConfig, trace_model

    trace = trace_model(name, TraceConfig())
    stopwatch.add("build", trace.build_seconds or 0.0)
    stopwatch.add("trace", trace.trace_seconds or 0.0)
    return [trace]


def trace_peer(side: str) -> Tracer:
    """Return the tracer of a peer: capture, then conversion (with statistics, where there are values)."""
    from benchmarks.peers import dynamo_capture, export_meta
    from benchmarks.peers.captured import to_graph

    capture = dynamo_capture.capture if side == "upstream" else export_meta.capture

    def trace(name: str, stopwatch: Stopwatch) -> list[Trace]:
        captured = capture(name, stopwatch)
        with stopwatch.stage("convert"):
            graphs = [to_graph(graph) for graph in captured]
        model = ModelRef(name, name.partition("/")[0])
        mode = "real" if side == "upstream" else "meta"
        return [
            Trace(model, graph, "dynamo", mode, (), torch.__version__, 0.0, 0.0, part)
            for part, graph in enumerate(graphs)
        ]

    return trace


def run_model(tracer: Tracer, name: str) -> tuple[dict[str, Any], list[dict[str, pa.Table]]]:
    """Trace one model and make its table rows; return what to log and the rows, none where it failed."""
    stopwatch, cpu_before = Stopwatch(), time.process_time()
    tables: list[dict[str, pa.Table]] = []
    entry: dict[str, Any] = {"model": name, "error": None, "num_ops": None, "num_graphs": None}
    try:
        with time_limit(MODEL_SECONDS_MAX):
            traces = tracer(name, stopwatch)
        with stopwatch.stage("rows"):
            tables = [trace_tables(trace, datetime.now(UTC)) for trace in traces]
        entry |= {"num_ops": sum(len(trace.graph.nodes) for trace in traces), "num_graphs": len(traces)}
    except Exception as error:  # foreign code
        entry["error"] = f"{type(error).__name__}: {' '.join(str(error).split())[:300]}"
    entry |= {"stages_s": stopwatch.seconds, "total_s": stopwatch.total_seconds}
    entry |= {"cpu_s": time.process_time() - cpu_before, "peak_rss_bytes": peak_rss_bytes()}
    return entry, tables


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Raise TimeoutError inside the block when it takes longer; a call into C++ is left to return first."""

    def stop(signum: int, frame: object) -> None:
        raise TimeoutError(f"not done after {seconds:g} s")

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)


def write_tables(corpus_path: Path, tables: Iterable[dict[str, pa.Table]]) -> float:
    """Stage and commit the rows of all models into a new corpus, as a shard of a refresh; return seconds."""
    stopwatch = Stopwatch()
    with stopwatch.stage("write"), Corpus.create(corpus_path) as corpus:
        batches: dict[str, list[pa.Table]] = {}
        for by_name in tables:
            for name, table in by_name.items():
                batches.setdefault(name, []).append(table)
        staged = corpus.stage({name: pa.concat_tables(parts) for name, parts in batches.items()}, "benchmark")
        corpus.commit(staged, "benchmark", {})
    return stopwatch.total_seconds


def peak_rss_bytes() -> int:
    """Return the largest resident set of this process so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def main() -> None:
    """Run one side over the list."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("side", choices=SIDES)
    parser.add_argument("--models", type=Path, required=True)
    parser.add_argument("--corpus", type=Path, required=True)
    parser.add_argument("--log", type=Path, required=True)
    parser.add_argument("--limit", type=int)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    tracer = trace_ours if options.side == "ours" else trace_peer(options.side)
    warm_tables = [table for name in WARM_UP_MODELS for table in run_model(tracer, name)[1]]
    write_tables(options.corpus / "warm", warm_tables)
    gc.collect()
    written: list[dict[str, pa.Table]] = []
    with options.log.open("a", encoding="utf-8") as log:
        for name in read_names(options.models)[: options.limit]:
            entry, tables = run_model(tracer, name)
            written += tables
            log.write(json.dumps(entry) + "\n")
            log.flush()
            gc.collect()
        log.write(json.dumps({"model": None, "write_s": write_tables(options.corpus / "timed", written)}) + "\n")


if __name__ == "__main__":
    main()
