"""An imported sample to the rows that it adds, and a stored graph to the files of its sample: both ways of exchange.

What the files cannot say of a graph's source travels in graph_net.json under `passnet.provenance`: the model's row,
the source's row and how the graph was traced. An import restores of it what is a fact about the graph or the model
(domain, family, licence, tracer, torch version, value reads, ...); the source becomes `import`, the id
`import/<model name>`.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from extract.graph import Graph
from extract.model_ref import ModelRef, Trace, ValueRead
from storage.records import rows_to_table, trace_tables

if TYPE_CHECKING:
    from extract.foreign_sample import ReadSample

SOURCE = "import"
_OWN_MODEL_FIELDS = frozenset({"model_id", "source", "framework"})
_TRACE_FIELDS = ("tracer", "tensor_mode", "torch_version", "break_reason")


def sample_tables(sample: ReadSample, files: Mapping[str, str], imported_from: str, digest: str) -> dict[str, pa.Table]:
    """Return the rows of one sample, by table, under the model id that its place gives; the part is 0."""
    trace = _trace(sample, f"{SOURCE}/{imported_from}")
    tables = trace_tables(trace, _traced_at(sample.provenance), hashes=sample.hashes, calls=sample.calls)
    if sample.is_ours and sample.provenance:
        tables["graphs"] = _with_cell(tables["graphs"], "domain", sample.domain)
    signature = tables["graphs"].column("signature_sha256")[0].as_py()
    if sample.finding is not None:
        verdict = {
            "signature_sha256": signature,
            "constraint": "runnable",
            "outcome": "failed",
            "level": "fake",
            "reason": sample.finding.reason,
            "detail": f"op {sample.finding.op_index}: {sample.finding.detail}",
        }
        tables["constraints"] = rows_to_table("constraints", [verdict])
    given = _given_files(sample, files)
    row = {
        "model_id": trace.model.model_id,
        "part": 0,
        "imported_from": imported_from,
        "is_ours": sample.is_ours,
        "files_sha256": digest,
        **given,
    }
    tables["samples"] = rows_to_table("samples", [row])
    return tables


def renamed(tables: Mapping[str, pa.Table], model_id: str, part: int) -> dict[str, pa.Table]:
    """Return the rows of one sample under another model id and part."""
    found = dict(tables)
    for name in ("models", "graph_sources", "samples"):
        found[name] = _with_cell(found[name], "model_id", model_id)
        if name != "models":
            found[name] = _with_cell(found[name], "part", part)
    return found


def _with_cell(rows: pa.Table, column: str, value: Any) -> pa.Table:
    place = rows.schema.get_field_index(column)
    field = rows.schema.field(place)
    return rows.set_column(place, field, pa.array([value] * rows.num_rows, field.type))


def _trace(sample: ReadSample, model_id: str) -> Trace:
    provenance = sample.provenance
    reads = tuple(ValueRead(int(index), str(method), bool(depends)) for index, method, depends in _reads(provenance))
    return Trace(
        model=_model(sample, model_id),
        graph=sample.graph,
        tracer=provenance.get("graph_tracer") or ("function_mode" if sample.is_ours else "foreign"),
        tensor_mode=provenance.get("tensor_mode") or "unknown",
        value_reads=reads,
        torch_version=str(provenance.get("torch_version") or sample.facts.get("torch_version") or "unknown"),
        build_seconds=None,
        trace_seconds=None,
        break_reason=provenance.get("break_reason"),
    )


def _model(sample: ReadSample, model_id: str) -> ModelRef:
    stated = sample.provenance.get("model")
    known = {field.name for field in dataclasses.fields(ModelRef)} - _OWN_MODEL_FIELDS
    kept: dict[str, Any] = {}
    if isinstance(stated, dict):
        kept = {str(key): value for key, value in stated.items() if key in known}
        if "last_modified" in kept:
            kept["last_modified"] = datetime.fromisoformat(kept["last_modified"])
    if not kept:
        kept = {"num_parameters": num_parameters(sample.graph), "domain": sample.domain}
    return ModelRef(model_id, SOURCE, **kept)


def num_parameters(graph: Graph) -> int:
    """Return the elements of a graph's parameters, as many as a column holds."""
    total = 0
    for tensor in graph.tensors:
        if tensor.kind == "parameter":
            size = 1
            for length in tensor.shape:
                size *= length
            total += size
    return min(total, 2**63 - 1)


def _reads(provenance: Mapping[str, Any]) -> list[tuple[Any, Any, Any]]:
    reads = provenance.get("value_reads")
    return [tuple(read) for read in reads] if isinstance(reads, list) else []  # pyright: ignore[reportReturnType]


def _traced_at(provenance: Mapping[str, Any]) -> datetime:
    stated = provenance.get("traced_at")
    if isinstance(stated, str):
        found = datetime.fromisoformat(stated)
        return found if found.tzinfo else found.replace(tzinfo=UTC)
    return datetime.now(UTC)


def _given_files(sample: ReadSample, files: Mapping[str, str]) -> dict[str, str | None]:
    return {
        "graph_net": json.dumps(dict(sample.facts)) if "graph_net.json" in files else None,
        "graph_hash": files["graph_hash.txt"].strip()[:1000] if "graph_hash.txt" in files else None,
        "input_constraints": files.get("input_tensor_constraints.py") or None,
        "subgraph_sources": files.get("subgraph_sources.json"),
        "symbols": json.dumps(dict(sample.symbols)) if sample.symbols else None,
    }
