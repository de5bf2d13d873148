"""Nouns to Arrow tables and back: what a child sends its parent, and what the corpus stores.

One trace gives the rows of `models`, `graphs`, `graph_texts`, `graph_sources`, `nodes` and `custom_ops`; hashes and
text are computed here, so that every writer of a graph stores the same ones. Lossless: `graph_from_rows` gives back a
graph equal field by field. Loads the standard library, pyarrow and the nouns only; columns that need xxhash stay null
until the parent calls `storage.fingerprints.add_xxh3`.
"""

from __future__ import annotations

import dataclasses
import itertools
import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from extract.call_forms import FormedCall, form_calls
from extract.config_identity import canonical_json
from extract.failure import Reason
from extract.graph import Graph, Node, OutputMeta, TensorMeta
from extract.hashing import GraphHashes, hash_graph, single_op_keys
from extract.hub_config import ModelConfig
from extract.literals import formed_json
from extract.model_ref import ModelRef, Trace
from extract.text import parse, render
from storage.call_facts import call_facts
from storage.schemas import KEYS, OUTPUT_TYPE, SCHEMAS, TENSOR_TYPE

if TYPE_CHECKING:
    from extract.custom_ops import CustomOp
    from extract.verdicts import Constraint

_FLOATING = ("float", "bfloat")
_EXACT_DOUBLE = 2**53


@dataclass(frozen=True, slots=True)
class Failure:
    """One subject that one step dropped; a row of `failures`. `seconds` is None where not measured; `at` is UTC."""

    subject: str
    step: str
    reason: Reason
    detail: str
    run_id: str
    seconds: float | None
    at: datetime
    step_version: int | None = None


def trace_tables(
    trace: Trace,
    traced_at: datetime,
    custom_ops: Sequence[CustomOp] = (),
    hashes: GraphHashes | None = None,
    calls: Sequence[FormedCall] | None = None,
) -> dict[str, pa.Table]:
    """Return the rows of one trace, by table; `traced_at` must carry a time zone. Cost is linear in the ops.

    The graph's `hashes` and its formed `calls` are computed where not given.
    """
    graph = trace.graph
    calls = form_calls(graph.nodes) if calls is None else calls
    hashes = hashes or hash_graph(graph, calls)
    signature = hashes.signature_sha256
    source_row = {
        "model_id": trace.model.model_id,
        "part": trace.part,
        "signature_sha256": signature,
        "tracer": trace.tracer,
        "break_reason": trace.break_reason,
        "torch_version": trace.torch_version,
        "build_seconds": trace.build_seconds,
        "trace_seconds": trace.trace_seconds,
        "traced_at": traced_at,
    }
    graph_row = _graph_row(trace) | {
        "signature_sha256": signature,
        "graph_sha256": hashes.graph_sha256,
        "structure_sha256": hashes.structure_sha256,
    }
    return {
        "models": model_table([trace.model]),
        "graphs": _with_tensors(rows_to_table("graphs", [graph_row]), graph.tensors),
        "graph_texts": rows_to_table(
            "graph_texts", [{"signature_sha256": signature, "model_py": render(graph, calls)}]
        ),
        "graph_sources": rows_to_table("graph_sources", [source_row]),
        "nodes": node_table(signature, graph, calls),
        "custom_ops": rows_to_table("custom_ops", [dataclasses.asdict(op) for op in custom_ops]),
    }


def join_parts(parts: Sequence[Mapping[str, pa.Table]]) -> dict[str, pa.Table]:
    """Return the rows of several parts of one model, in order; a row whose key an earlier part has is left out."""
    if len(parts) == 1:
        return dict(parts[0])
    return {name: first_rows(name, pa.concat_tables([part[name] for part in parts])) for name in parts[0]}


def split_graphs(tables: Mapping[str, pa.Table]) -> list[tuple[str, dict[str, pa.Table]]]:
    """Return, for each graph in the rows of a model, its signature and the rows that are about it."""
    signatures = tables["graphs"].column("signature_sha256").to_pylist()
    return [(signature, _about(tables, signature)) for signature in signatures]


def model_table(models: Iterable[ModelRef]) -> pa.Table:
    """Return the rows of `models` for models that a source named, in the order given."""
    return rows_to_table("models", [dataclasses.asdict(model) for model in models])


def config_table(configs: Iterable[ModelConfig]) -> pa.Table:
    """Return the rows of `model_configs`, in the order given."""
    rows = [
        dataclasses.asdict(config)
        | {
            "config": canonical_json(config.config),
            "code": canonical_json(dataclasses.asdict(config.code)) if config.code else None,
        }
        for config in configs
    ]
    return rows_to_table("model_configs", rows)


def config_from_row(row: Mapping[str, Any]) -> ModelConfig:
    """Undo `config_table` for one row."""
    return ModelConfig.read({**row, "config": json.loads(row["config"]), "code": json.loads(row["code"] or "null")})


def constraint_table(signature_sha256: str, constraints: Sequence[Constraint]) -> pa.Table:
    """Return the rows of `constraints` for the verdicts on one graph."""
    rows = [
        {
            "signature_sha256": signature_sha256,
            "constraint": verdict.constraint,
            "outcome": verdict.outcome,
            "level": verdict.level,
            "reason": verdict.reason or None,
            "detail": verdict.detail or None,
            "seconds": verdict.seconds,
        }
        for verdict in constraints
    ]
    return rows_to_table("constraints", rows)


def failure_table(failures: Iterable[Failure]) -> pa.Table:
    """Return the rows of `failures`, in the order given."""
    rows = [dataclasses.asdict(failure) | {"reason": str(failure.reason)} for failure in failures]
    return rows_to_table("failures", rows)


def graph_from_rows(graphs_row: Mapping[str, Any], model_py: str, nodes_rows: Sequence[Mapping[str, Any]]) -> Graph:
    """Rebuild a graph from its stored rows, `nodes_rows` in index order; equal to the traced one field by field.

    Raises ValueError when the text and the rows do not tell of the same ops.
    """
    tensors = tuple(_tensor_from_row(row) for row in graphs_row["tensors"])
    graph = parse(model_py, tensors)
    if len(graph.nodes) != len(nodes_rows):
        raise ValueError(f"the text holds {len(graph.nodes)} ops, table nodes {len(nodes_rows)}")
    nodes = tuple(_with_outputs(node, row) for node, row in zip(graph.nodes, nodes_rows, strict=True))
    return dataclasses.replace(graph, nodes=nodes)


def graph_from_payload(payload: bytes) -> Graph:
    """Rebuild the graph of a payload that `tables_to_bytes` made of the rows of one; raises as `graph_from_rows`."""
    tables = tables_from_bytes(payload)
    text = tables["graph_texts"].column("model_py")[0].as_py()
    return graph_from_rows(tables["graphs"].to_pylist()[0], text, tables["nodes"].to_pylist())


def program_to_bytes(graph: Graph) -> bytes:
    """Return a program as a payload that needs no row of a corpus: its text and tensors, not what its calls return."""
    calls = form_calls(graph.nodes)
    unknown = {field.name: "" for field in SCHEMAS["graphs"] if pa.types.is_string(field.type) and not field.nullable}
    row = unknown | graph_columns(graph) | {"num_value_reads": 0, "value_reads": []}
    tables = {
        "graphs": _with_tensors(rows_to_table("graphs", [row]), graph.tensors),
        "graph_texts": rows_to_table("graph_texts", [{"signature_sha256": "", "model_py": render(graph, calls)}]),
    }
    return tables_to_bytes(tables)


def program_from_bytes(payload: bytes) -> Graph:
    """Undo `program_to_bytes`: what calls return is not recorded; raises ValueError for a text that is no program."""
    tables = tables_from_bytes(payload)
    row = tables["graphs"].to_pylist()[0]
    tensors = tuple(_tensor_from_row(tensor) for tensor in row["tensors"])
    return parse(tables["graph_texts"].column("model_py")[0].as_py(), tensors)


def graph_columns(graph: Graph) -> dict[str, Any]:
    """Return the columns of a row of `graphs` that follow from its ops and tensors, hashes excepted."""
    num_inputs = sum(tensor.kind == "input" for tensor in graph.tensors)
    return {
        "op_sequence": list(graph.op_names),
        "num_ops": len(graph.nodes),
        "num_inputs": num_inputs,
        "num_weights": len(graph.tensors) - num_inputs,
        "dtype": _main_dtype(graph),
    }


def node_table(signature: str, graph: Graph, calls: Sequence[FormedCall] | None = None) -> pa.Table:
    """Return the rows of `nodes` for a graph, in op order; its `calls` are formed where not given."""
    nodes = graph.nodes
    calls = form_calls(nodes) if calls is None else calls
    first = [node.outputs[0] if node.outputs else None for node in nodes]
    facts = call_facts(graph, calls)
    columns: dict[str, list[Any]] = {
        "signature_sha256": [signature] * len(nodes),
        "index": list(range(len(nodes))),
        "op": [node.op for node in nodes],
        "target": [node.target for node in nodes],
        "operands": [call.operands for call in facts],
        "literals": [formed_json(form, refs) for form, refs in calls],
        "output_shape": [output and output.shape for output in first],
        "output_dtype": [output and output.dtype for output in first],
        "single_op_sha256": single_op_keys(graph, calls),
        "operand_ops": [call.operand_ops for call in facts],
        "operand_shapes": [call.operand_shapes for call in facts],
        "operand_bytes": [call.operand_bytes for call in facts],
        "output_bytes": [call.output_bytes for call in facts],
        "depth": [call.depth for call in facts],
    }
    schema = SCHEMAS["nodes"]
    arrays = [_outputs_array(nodes) if f.name == "outputs" else pa.array(columns[f.name], f.type) for f in schema]
    return pa.Table.from_arrays(arrays, schema=schema)


def rows_to_table(table: str, rows: Sequence[Mapping[str, Any]]) -> pa.Table:
    """Return rows as an Arrow table of the stored schema; columns that a row lacks are null."""
    schema = SCHEMAS[table]
    columns = [pa.array([row.get(field.name) for row in rows], type=field.type) for field in schema]
    return pa.Table.from_arrays(columns, schema=schema)


def first_rows(table: str, rows: pa.Table) -> pa.Table:
    """Return the first row of each key of a table, in order."""
    keys = list(zip(*(rows.column(name).to_pylist() for name in KEYS[table]), strict=True))
    first = {key: index for index, key in reversed(list(enumerate(keys)))}
    return rows.filter(pa.array([first[key] == index for index, key in enumerate(keys)], pa.bool_()))


def tables_to_bytes(tables: Mapping[str, pa.Table]) -> bytes:
    """Return tables as one buffer: per table an Arrow stream, its name in the schema's metadata."""
    sink = pa.BufferOutputStream()
    for name, table in tables.items():
        schema = table.schema.with_metadata({"table": name})
        with pa.ipc.new_stream(sink, schema) as writer:
            writer.write_table(table.replace_schema_metadata(schema.metadata))
    return sink.getvalue().to_pybytes()


def tables_from_bytes(payload: bytes) -> dict[str, pa.Table]:
    """Undo `tables_to_bytes`; raises pa.ArrowInvalid or KeyError on bytes that it did not write."""
    source = pa.BufferReader(payload)
    tables: dict[str, pa.Table] = {}
    while source.tell() < len(payload):
        with pa.ipc.open_stream(source) as reader:
            table = reader.read_all()
        name = (table.schema.metadata or {})[b"table"].decode()
        tables[name] = table.cast(SCHEMAS[name])
    return tables


def _about(tables: Mapping[str, pa.Table], signature: str) -> dict[str, pa.Table]:
    chosen: dict[str, pa.Table] = {}
    for name, rows in tables.items():
        if "signature_sha256" in rows.schema.names:
            owners = rows.column("signature_sha256").to_pylist()
            rows = rows.filter(pa.array([owner == signature for owner in owners], pa.bool_()))
        chosen[name] = rows
    return chosen


def _graph_row(trace: Trace) -> dict[str, Any]:
    return graph_columns(trace.graph) | {
        "domain": trace.model.domain,
        "tracer": trace.tracer,
        "tensor_mode": trace.tensor_mode,
        "num_value_reads": len(trace.value_reads),
        "value_reads": [dataclasses.asdict(read) for read in trace.value_reads],
    }


def _main_dtype(graph: Graph) -> str | None:
    counts = Counter(
        output.dtype for node in graph.nodes for output in node.outputs if output.dtype.startswith(_FLOATING)
    )
    return min(counts, key=lambda dtype: (-counts[dtype], dtype)) if counts else None


def _with_tensors(graphs: pa.Table, tensors: Sequence[TensorMeta]) -> pa.Table:
    """Return a row of `graphs` with its tensors; made column by column, without an object for each tensor."""
    columns: dict[str, list[Any]] = {
        name: [getattr(tensor, name) for tensor in tensors] for name in TENSOR_TYPE.names if not name.startswith("data")
    }
    columns["data"] = [tensor.values and [float(value) for value in tensor.values] for tensor in tensors]
    columns["data_exact"] = [_exact_values(tensor) for tensor in tensors]
    place = graphs.schema.get_field_index("tensors")
    array = pa.ListArray.from_arrays([0, len(tensors)], _structs(columns, TENSOR_TYPE))
    return graphs.set_column(place, graphs.schema.field(place), array.cast(graphs.schema.field(place).type))


def _exact_values(tensor: TensorMeta) -> list[str] | None:
    """Return a tensor's values as text where doubles would round them."""
    if tensor.values and any(isinstance(value, int) and abs(value) > _EXACT_DOUBLE for value in tensor.values):
        return [str(value) for value in tensor.values]
    return None


def _structs(columns: Mapping[str, list[Any]], kind: pa.StructType) -> pa.StructArray:
    arrays = [pa.array(columns[field.name], field.type) for field in kind]
    return pa.StructArray.from_arrays(arrays, fields=list(kind))


def _tensor_from_row(row: Mapping[str, Any]) -> TensorMeta:
    return TensorMeta(
        name=row["name"],
        kind=row["kind"],
        original_name=row["original_name"],
        shape=tuple(row["shape"]),
        stride=tuple(row["stride"]),
        dtype=row["dtype"],
        mean=row["mean"],
        std=row["std"],
        min=row["min"],
        max=row["max"],
        values=_tensor_values(row),
        stats_source=row["stats_source"],
    )


def _tensor_values(row: Mapping[str, Any]) -> tuple[float | int | bool, ...] | None:
    if row["data"] is None:
        return None
    if row["data_exact"] is not None:
        return tuple(int(value) for value in row["data_exact"])
    if row["dtype"] == "bool":
        return tuple(bool(value) for value in row["data"])
    if row["dtype"].startswith(_FLOATING):
        return tuple(row["data"])
    return tuple(int(value) for value in row["data"])


def _outputs_array(nodes: Sequence[Node]) -> pa.ListArray:
    """Return the column `nodes.outputs`; made column by column, without an object for each output."""
    outputs = [output for node in nodes for output in node.outputs]
    ends = itertools.accumulate([len(node.outputs) for node in nodes], initial=0)
    columns = {name: [getattr(output, name) for output in outputs] for name in OUTPUT_TYPE.names}
    array = pa.ListArray.from_arrays(pa.array(ends, pa.int32()), _structs(columns, OUTPUT_TYPE))
    return array.cast(SCHEMAS["nodes"].field("outputs").type)


def _with_outputs(node: Node, row: Mapping[str, Any]) -> Node:
    if (node.op, node.target) != (row["op"], row["target"]):
        raise ValueError(f"op {row['index']}: the text says {node.target}, table nodes {row['target']}")
    outputs = tuple(
        OutputMeta(tuple(output["path"]), tuple(output["shape"]), tuple(output["stride"]), output["dtype"])
        for output in row["outputs"]
    )
    return dataclasses.replace(node, outputs=outputs)
