"""Where the time of our tracing goes, stage by stage, in a process of its own (`benchmarks.trace --profile`).

`python -m benchmarks.trace_profile --models FILE` prints one JSON object of seconds, summed over the models after an
untimed one: `build` on meta; `forward`, torch's own share of the trace, measured by a forward without recording;
`statistics`, describing the tensors again; `recording`, the trace less those two; then the rows: `hashing`, `text`,
`literals`, `single_op_hashes` and `other_rows` (Arrow tables); `parquet`, the one write at the end.
"""

from __future__ import annotations

import argparse
import gc
import json
import subprocess
import sys
import tempfile
import warnings
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import torch

from benchmarks.model_list import read_names
from benchmarks.stopwatch import Stopwatch
from benchmarks.trace_side import WARM_UP_MODELS, write_tables
from extract.arguments import map_tensors
from extract.failure import SubjectError
from extract.graph import Graph
from extract.hashing import hash_graph, single_op_sha256
from extract.literals import arguments_json
from extract.model_tracing import trace_model
from extract.sources import prepare
from extract.statistics import measure_tensor
from extract.text import render
from storage.records import trace_tables

ROOT = Path(__file__).resolve().parents[1]


def run_profile(models: Path, limit: int | None) -> dict[str, float]:
    """Profile in a new process; return seconds by `profile_<stage>_s` and each stage's share of them."""
    command = [sys.executable, "-m", "benchmarks.trace_profile", "--models", str(models)]
    command += ["--limit", str(limit)] if limit is not None else []
    printed = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    seconds: dict[str, float] = json.loads(printed.splitlines()[-1])
    total = sum(seconds.values())
    figures = {f"profile_{stage}_s": value for stage, value in seconds.items()}
    return figures | {f"profile_{stage}_frac": value / total for stage, value in seconds.items()}


def profile_model(name: str, stopwatch: Stopwatch) -> dict[str, pa.Table]:
    """Trace one model and charge its stages; return its rows."""
    trace = trace_model(name)
    stopwatch.add("build", trace.build_seconds or 0.0)
    apart = Stopwatch()
    _forward_plainly(name, apart)
    with apart.stage("statistics"):
        for tensor in trace.graph.tensors:
            measure_tensor(_on_meta(tensor.shape, tensor.dtype), tensor.kind, tensor.original_name)
    _charge_shares(stopwatch, "recording", trace.trace_seconds or 0.0, apart)
    rows = Stopwatch()
    with rows.stage("rows"):
        tables = trace_tables(trace, datetime.now(UTC))
    parts = Stopwatch()
    _charge_row_parts(trace.graph, parts)
    _charge_shares(stopwatch, "other_rows", rows.total_seconds, parts)
    return tables


def _forward_plainly(name: str, stopwatch: Stopwatch) -> None:
    """Charge one forward without the tracer; where it needs values that meta lacks, it stays with the recording."""
    prepared = prepare(name)
    inputs = prepared.make_inputs(0)
    args, kwargs = map_tensors((list(inputs.args), dict(inputs.kwargs)), lambda tensor: tensor.to("meta"))
    apart = Stopwatch()
    try:
        with apart.stage("forward"), torch.no_grad():
            prepared.module(*args, **kwargs)
    except (RuntimeError, NotImplementedError) as error:
        print(f"forward of {name} is not told apart: {error}".splitlines()[0], file=sys.stderr)
        return
    stopwatch.add("forward", apart.total_seconds)


def _on_meta(shape: tuple[Any, ...], dtype: str) -> torch.Tensor:
    return torch.empty(shape, dtype=getattr(torch, dtype), device="meta")


def _charge_row_parts(graph: Graph, stopwatch: Stopwatch) -> None:
    with stopwatch.stage("hashing"):
        hash_graph(graph)
    with stopwatch.stage("text"):
        render(graph)
    with stopwatch.stage("literals"):
        for node in graph.nodes:
            arguments_json(node)
    with stopwatch.stage("single_op_hashes"):
        for index in range(len(graph.nodes)):
            single_op_sha256(graph, index)


def _charge_shares(stopwatch: Stopwatch, rest: str, whole_seconds: float, parts: Stopwatch) -> None:
    """Charge each part, and to `rest` what the whole took beyond them (never below zero: they ran another time)."""
    for stage, seconds in parts.seconds.items():
        stopwatch.add(stage, seconds)
    stopwatch.add(rest, max(0.0, whole_seconds - parts.total_seconds))


def main() -> None:
    """Profile the list and print one JSON line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--models", type=Path, required=True)
    parser.add_argument("--limit", type=int)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    for name in WARM_UP_MODELS:
        profile_model(name, Stopwatch())
    stopwatch, written = Stopwatch(), list[dict[str, pa.Table]]()
    for name in read_names(options.models)[: options.limit]:
        try:
            written.append(profile_model(name, stopwatch))
        except SubjectError as error:
            print(f"left out: {error}", file=sys.stderr)
        gc.collect()
    with tempfile.TemporaryDirectory(prefix="passnet-bench-") as folder:
        stopwatch.add("parquet", write_tables(Path(folder, "corpus"), written))
    print(json.dumps(stopwatch.seconds))


if __name__ == "__main__":
    main()
