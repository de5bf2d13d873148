"""Where a graph comes from, as an exported sample notes it: key `passnet.provenance` of graph_net.json."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from datetime import datetime
from typing import Any

from extract.model_ref import Trace


def provenance_of_rows(model: Mapping[str, Any], source: Mapping[str, Any], graph: Mapping[str, Any]) -> dict[str, Any]:
    """Return what is noted of a graph's rows in `models`, `graph_sources` and `graphs`."""
    named = {
        key: value.isoformat() if isinstance(value, datetime) else value
        for key, value in model.items()
        if value is not None
    }
    return {
        "model": named,
        "part": source["part"],
        **{key: source.get(key) for key in ("tracer", "break_reason", "torch_version")},
        "traced_at": source["traced_at"].isoformat(),
        "domain": graph["domain"],
        "graph_tracer": graph["tracer"],
        "tensor_mode": graph["tensor_mode"],
        "value_reads": [[read["op_index"], read["method"], read["depends_on_input"]] for read in graph["value_reads"]],
    }


def provenance_of_trace(trace: Trace, traced_at: datetime) -> dict[str, Any]:
    """Return the same of a trace that has no rows yet; `traced_at` carries a time zone."""
    graph = {
        "domain": trace.model.domain,
        "tracer": trace.tracer,
        "tensor_mode": trace.tensor_mode,
        "value_reads": [asdict(read) for read in trace.value_reads],
    }
    source = {
        "part": trace.part,
        "tracer": trace.tracer,
        "break_reason": trace.break_reason,
        "torch_version": trace.torch_version,
        "traced_at": traced_at,
    }
    return provenance_of_rows(asdict(trace.model), source, graph)
