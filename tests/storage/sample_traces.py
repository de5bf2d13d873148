"""Small graphs and traces made by hand, for tests of storage and of the commands that read it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

import pyarrow as pa

from extract.failure import Reason
from extract.graph import Graph, Node, OpRef, OutputMeta, TensorMeta, TensorRef
from extract.model_ref import ModelRef, Trace, ValueRead
from storage.records import Failure, failure_table, trace_tables

NOW = datetime(2026, 11, 29, 12, tzinfo=UTC)


def small_graph(width: int = 4, ops: int = 2) -> Graph:
    """A linear layer, then relus: graphs of equal `ops` are one program, of which each `width` is a signature."""
    tensors = (
        TensorMeta("x", "input", "x", (1, width), (width, 1), "float32", 0.0, 1.0, stats_source="role"),
        TensorMeta("w", "parameter", "fc.weight", (width, width), (width, 1), "float32"),
    )
    output = (OutputMeta((), (1, width), (width, 1), "float32"),)
    linear = Node("linear", "torch.nn.functional.linear", (TensorRef(0), TensorRef(1)), (), output)
    relus = [Node("relu", "torch.relu", (OpRef(index),), (), output) for index in range(ops - 1)]
    return Graph((linear, *relus), tensors, (OpRef(ops - 1),))


def small_trace(name: str, width: int = 4, ops: int = 2) -> Trace:
    """A trace of `timm/<name>`."""
    model = ModelRef(f"timm/{name}", "timm", domain="cv", family="small", num_parameters=width * width)
    reads = (ValueRead(0, "item", True),)
    return Trace(model, small_graph(width, ops), "function_mode", "meta", reads, "2.14.1", 0.1, 0.2)


def batch(traces: Sequence[Trace], at: datetime = NOW) -> dict[str, pa.Table]:
    """The tables of some traces, one after the other."""
    parts = [trace_tables(trace, at) for trace in traces]
    return {name: pa.concat_tables([part[name] for part in parts]) for name in parts[0]}


def failure(subject: str, reason: Reason, run_id: str = "run", step_version: int = 1) -> pa.Table:
    """One row of `failures`."""
    return failure_table([Failure(subject, "trace", reason, "why", run_id, 0.5, NOW, step_version)])
