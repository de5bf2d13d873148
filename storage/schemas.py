"""The tables of a corpus: one Arrow schema each, with a description per column, and the keys of their rows.

Column metadata: `description` (unit, source, meaning of null) and, on columns that two equal runs may fill
differently (times, seconds, run ids), `volatile`. Columns are only ever added within a schema version
(definitions.md section 7); what a column means is definitions.md sections 1 and 2.
"""

from __future__ import annotations

from typing import Final

import pyarrow as pa

SCHEMA_VERSION: Final = 2
GRAPH_ALGORITHM: Final = "passnet-graph/1"

_TIMESTAMP: Final = pa.timestamp("us", tz="UTC")
_INT_LIST: Final = pa.list_(pa.int64())


def _column(
    name: str, arrow_type: pa.DataType, description: str, *, null: bool = True, volatile: bool = False
) -> pa.Field:
    metadata: dict[bytes | str, bytes | str] = {"description": description}
    if volatile:
        metadata["volatile"] = "1"
    return pa.field(name, arrow_type, nullable=null, metadata=metadata)


TENSOR_TYPE: Final = pa.struct(
    [
        pa.field("name", pa.string()),
        pa.field("kind", pa.string()),
        pa.field("original_name", pa.string()),
        pa.field("shape", _INT_LIST),
        pa.field("stride", _INT_LIST),
        pa.field("dtype", pa.string()),
        pa.field("mean", pa.float64()),
        pa.field("std", pa.float64()),
        pa.field("min", pa.float64()),
        pa.field("max", pa.float64()),
        pa.field("data", pa.list_(pa.float64())),
        pa.field("data_exact", pa.list_(pa.string())),
        pa.field("stats_source", pa.string()),
    ]
)
VALUE_READ_TYPE: Final = pa.struct(
    [pa.field("op_index", pa.int32()), pa.field("method", pa.string()), pa.field("depends_on_input", pa.bool_())]
)
OUTPUT_TYPE: Final = pa.struct(
    [
        pa.field("path", pa.list_(pa.int32())),
        pa.field("shape", _INT_LIST),
        pa.field("stride", _INT_LIST),
        pa.field("dtype", pa.string()),
    ]
)


def _signature() -> pa.Field:
    return _column(
        "signature_sha256",
        pa.string(),
        "Identity of the graph's row: the program with kind, shape and dtype of each operand.",
        null=False,
    )


_MODELS = pa.schema(
    [
        _column("model_id", pa.string(), "Source, slash, the source's own name.", null=False),
        _column("source", pa.string(), "Who named the model: timm, transformers, hub, user, import.", null=False),
        _column("framework", pa.string(), "Framework that the model is written in.", null=False),
        _column("architecture", pa.string(), "The source's name of the architecture; null where it has none."),
        _column("family", pa.string(), "Module or model type that the architecture belongs to; null if unknown."),
        _column("config_sha256", pa.string(), "Canonical config, class, head and input; null where not computed."),
        _column("revision", pa.string(), "Revision of the source's record; null where it has none."),
        _column("domain", pa.string(), "nlp, cv, multimodal, audio or other; null if unknown."),
        _column("licence", pa.string(), "Licence that the source states; null where it states none."),
        _column("gated", pa.bool_(), "Whether the source asks for permission; null if unknown."),
        _column("num_parameters", pa.int64(), "Parameters, tied ones once; null where the model was never built."),
        _column("traced_from", pa.string(), "Model whose trace stands for this one; null when traced itself."),
        _column("head", pa.string(), "Task head: base, causal-lm, ...; null where the source has no heads."),
        _column("repairs", pa.string(), "Why the default config had to be repaired; null where it runs as published."),
        _column("modalities", pa.list_(pa.string()), "Modalities that the forward takes; null if unknown."),
        _column(
            "modalities_received",
            pa.list_(pa.string()),
            "Those of them that the traced program uses; null where not traced.",
        ),
        _column("inputs", pa.list_(pa.string()), "Data inputs that the traced program uses; null where not traced."),
        _column("num_guesses", pa.int32(), "Data-dependent values that the tracer guessed; null where not traced."),
        _column(
            "parameters_used_frac",
            pa.float64(),
            "Share of the parameters (tensors, tied ones once) that the program uses; null where not traced.",
        ),
        _column("unused_reason", pa.string(), "Why the other parameters take no part; null where not explained."),
    ]
)

_GRAPHS = pa.schema(
    [
        _signature(),
        _column("graph_sha256", pa.string(), "Identity of the program: ops, edges and literals.", null=False),
        _column("structure_sha256", pa.string(), "The program with its size arguments masked.", null=False),
        _column("op_sequence", pa.list_(pa.string()), "Canonical op names in recorded order.", null=False),
        _column("op_sequence_xxh3", pa.string(), "xxh3-128 (hex) of the op names joined by newline."),
        _column("num_ops", pa.int32(), "Ops in the graph.", null=False),
        _column("num_inputs", pa.int32(), "Tensors of kind input.", null=False),
        _column("num_weights", pa.int32(), "Tensors of kind parameter, buffer or constant.", null=False),
        _column(
            "tensors",
            pa.list_(TENSOR_TYPE),
            "Tensors from outside, in order. mean to max: null where unknown, stats_source says how they are known "
            "(values, role, none). data: flat values below 64 elements, else null; data_exact: the same as decimal "
            "text where doubles would round them, else null.",
            null=False,
        ),
        _column("dtype", pa.string(), "Commonest floating dtype among what the ops return; null where there is none."),
        _column("domain", pa.string(), "Domain of the model first seen with this graph; null if unknown."),
        _column("tracer", pa.string(), "What recorded the graph: function_mode or dynamo.", null=False),
        _column("tensor_mode", pa.string(), "Tensors that the trace ran on: meta, fake or real.", null=False),
        _column("num_value_reads", pa.int32(), "Times Python read a tensor's value during the trace.", null=False),
        _column("value_reads", pa.list_(VALUE_READ_TYPE), "Those reads, in order.", null=False),
    ]
)

_GRAPH_TEXTS = pa.schema(
    [_signature(), _column("model_py", pa.large_string(), "The program as Python source, one op a line.", null=False)]
)

_GRAPH_SOURCES = pa.schema(
    [
        _column("model_id", pa.string(), "Model that was traced.", null=False),
        _column(
            "part",
            pa.int32(),
            "0: the whole program, by the function mode. Dynamo's graphs are parts 1 to n of a model that had to run "
            "on real tensors, 0 to n - 1 where Dynamo is the tracer.",
            null=False,
        ),
        _signature(),
        _column("tracer", pa.string(), "What recorded this part: function_mode or dynamo; null in older shards."),
        _column(
            "break_reason",
            pa.string(),
            "What ended a part of Dynamo's, with file:line of the model's code; null where it ran to the end of a "
            "function, and for the function mode.",
        ),
        _column("torch_version", pa.string(), "torch that traced it.", null=False),
        _column("build_seconds", pa.float64(), "Seconds to build the model; null if not measured.", volatile=True),
        _column("trace_seconds", pa.float64(), "Seconds to trace the model; null if not measured.", volatile=True),
        _column("traced_at", _TIMESTAMP, "When it was traced (UTC).", null=False, volatile=True),
    ]
)

_CONSTRAINTS = pa.schema(
    [
        _signature(),
        _column("constraint", pa.string(), "Which check (definitions.md section 2).", null=False),
        _column("outcome", pa.string(), "passed, failed or not_applicable.", null=False),
        _column(
            "level",
            pa.string(),
            "static (by text alone), fake or real tensors; levels stand beside each other, the view "
            "current_constraints gives the highest.",
            null=False,
        ),
        _column("reason", pa.string(), "Why it failed, or a finding; null when there is none."),
        _column("detail", pa.string(), "Particulars of the reason; null when there are none."),
        _column("seconds", pa.float64(), "Seconds that the check took; null if not measured.", volatile=True),
    ]
)

_FAILURES = pa.schema(
    [
        _column("subject", pa.string(), "What was dropped: the id of a model, a graph, ...", null=False),
        _column("step", pa.string(), "Step that dropped it.", null=False),
        _column("reason", pa.string(), "A value of extract.failure.Reason.", null=False),
        _column("detail", pa.string(), "The error's own words, one line.", null=False),
        _column("step_version", pa.int32(), "Version of the step: a deterministic failure is retried when it changes."),
        _column("run_id", pa.string(), "Run that met the failure.", null=False, volatile=True),
        _column("seconds", pa.float64(), "Seconds spent on the subject; null if not measured.", volatile=True),
        _column("at", _TIMESTAMP, "When it failed (UTC).", null=False, volatile=True),
    ]
)

_NODES = pa.schema(
    [
        _signature(),
        _column("index", pa.int32(), "Position of the op in recorded order, from 0.", null=False),
        _column("op", pa.string(), "Canonical op name, the same for all spellings.", null=False),
        _column("target", pa.string(), "Public spelling that was called.", null=False),
        _column(
            "operands", pa.list_(pa.int32()), "Refs in argument order: op index, or -1 - tensor index.", null=False
        ),
        _column(
            "literals",
            pa.string(),
            'Arguments as one JSON text; operands are {"op": [index, ...]} or {"tensor": index}.',
            null=False,
        ),
        _column("output_shape", _INT_LIST, "Shape of the first tensor returned; null when none is."),
        _column("output_dtype", pa.string(), "dtype of the first tensor returned; null when none is."),
        _column("outputs", pa.list_(OUTPUT_TYPE), "Every tensor returned; stride counts elements.", null=False),
        _column("single_op_sha256", pa.string(), "Single-op key (definitions.md section 3).", null=False),
    ]
)

_CUSTOM_OPS = pa.schema(
    [
        _column("name", pa.string(), "namespace.name, overload dropped.", null=False),
        _column("schema", pa.string(), "torch's schema text; null if unknown."),
        _column("source", pa.string(), "Python source file that registers the op; null where unavailable."),
        _column("licence", pa.string(), "Licence of that source; null if unknown."),
    ]
)

_CROSSCHECKS = pa.schema(
    [
        _column("model_id", pa.string(), "Model that both tracers traced.", null=False),
        _column("equal_graph", pa.bool_(), "Equal graph_sha256 under `conditions`; null: a tracer failed."),
        _column("equal_structure", pa.bool_(), "Equal structure_sha256; null: a tracer failed."),
        _column(
            "equal_ops", pa.bool_(), "Equal op sequence, Dynamo's parts one after the other; null: a tracer failed."
        ),
        _column(
            "equal_output",
            pa.bool_(),
            "Both graphs give equal bits on the same weights and inputs; null where Dynamo has several parts or a "
            "replay failed.",
        ),
        _column(
            "max_rel_diff", pa.float64(), "Largest difference between those outputs, relative to the largest value."
        ),
        _column("equal_eager", pa.bool_(), "The stored graph gives the bits that the module gives; null: not run."),
        _column(
            "conditions",
            pa.string(),
            "Under which the two were compared: eager (each as it is), eager_judged (Dynamo says that nothing is being "
            "compiled), compiling (our trace says that it is); the first under which the graphs, else the op "
            "sequences, are equal. Null: a tracer failed.",
        ),
        _column(
            "cause",
            pa.string(),
            "Why they differ, as extract.differences.Cause; not_compared where no comparison came about; null where "
            "the graphs are equal under eager.",
        ),
        _column("detail", pa.string(), "Particulars of the cause, one line; null when there is none."),
        _column("num_ops_function", pa.int32(), "Ops of the stored graph; null: it could not be traced."),
        _column("num_ops_dynamo", pa.int32(), "Ops of Dynamo's graphs as they are; null: Dynamo failed."),
        _column("num_breaks", pa.int32(), "Dynamo's graphs less one; null: Dynamo failed."),
        _column("seconds", pa.float64(), "Wall time of the comparison; null if not measured.", volatile=True),
        _column("run_id", pa.string(), "Run that compared them.", null=False, volatile=True),
        _column("torch_version", pa.string(), "torch of both tracers.", null=False),
        _column("at", _TIMESTAMP, "When they were compared (UTC).", null=False, volatile=True),
    ]
)

_GRAMMARS = pa.schema(
    [
        _column("grammar_id", pa.string(), "Hash of the set of graphs it was learned from and its bounds.", null=False),
        _column("num_graphs", pa.int32(), "Distinct graphs (graph_sha256) that it was learned from.", null=False),
        _column("num_folds", pa.int32(), "Folds at most.", null=False),
        _column("max_length", pa.int32(), "Longest pattern body, in symbols.", null=False),
        _column("at", _TIMESTAMP, "When it was learned (UTC); the latest is the one in use.", volatile=True),
    ]
)

_PATTERNS = pa.schema(
    [
        _column("grammar_id", pa.string(), "Grammar that the pattern belongs to.", null=False),
        _column("symbol", pa.int32(), "Number of the pattern: the fold that made it, from 0.", null=False),
        _column("body", pa.list_(pa.string()), "Op names, and #n for an earlier pattern.", null=False),
        _column("expansion", pa.list_(pa.string()), "The op names that it stands for.", null=False),
        _column("length", pa.int32(), "Ops in the expansion.", null=False),
        _column("depth", pa.int32(), "How deep patterns nest in it; 1: op names alone.", null=False),
        _column("count", pa.int32(), "Disjoint places where the fold put it, when learned.", null=False),
        _column("families", pa.list_(pa.string()), "Families of the models whose graphs hold it, when learned."),
    ]
)

_SUBGRAPHS = pa.schema(
    [
        _column(
            "subgraph_sha256",
            pa.string(),
            "graph_sha256 of the cut; for single_op the single-op key, as in nodes.single_op_sha256.",
            null=False,
        ),
        _column("kind", pa.string(), "classical, fusible or single_op.", null=False),
        _column("structure_sha256", pa.string(), "The program with its size arguments masked; null for single_op."),
        _column("op_sequence", pa.list_(pa.string()), "Canonical op names in recorded order.", null=False),
        _column("op_sequence_xxh3", pa.string(), "xxh3-128 (hex) of the op names joined by newline.", null=False),
        _column("num_ops", pa.int32(), "Ops in the subgraph.", null=False),
        _column("num_inputs", pa.int32(), "Operands from outside, weights included.", null=False),
        _column("num_outputs", pa.int32(), "Values used later or returned; null for single_op."),
        _column("connected", pa.bool_(), "Whether its ops hang together by what they pass to each other.", null=False),
        _column("pattern", pa.int32(), "Lowest symbol of the grammar with this op sequence; null unless classical."),
    ]
)

_SUBGRAPH_TEXTS = pa.schema(
    [
        _column("subgraph_sha256", pa.string(), "Subgraph.", null=False),
        _column(
            "model_py", pa.large_string(), "Its program in canonical spelling; equal hashes, equal texts.", null=False
        ),
    ]
)

_OCCURRENCES = pa.schema(
    [
        _column("subgraph_sha256", pa.string(), "Subgraph.", null=False),
        _column(
            "kind", pa.string(), "classical or fusible; single ops are the column nodes.single_op_sha256.", null=False
        ),
        _signature(),
        _column("start", pa.int32(), "First op, an index of nodes.", null=False),
        _column("end", pa.int32(), "Op after the last.", null=False),
        _column("grammar_id", pa.string(), "Grammar that found it; null for fusible.", null=False),
    ]
)

_EXCLUDED_RANGES = pa.schema(
    [
        _signature(),
        _column("kind", pa.string(), "classical or fusible.", null=False),
        _column("start", pa.int32(), "First op, an index of nodes.", null=False),
        _column("end", pa.int32(), "Op after the last.", null=False),
        _column("grammar_id", pa.string(), "Grammar that found it.", null=False),
        _column("reason", pa.string(), "Why it is no subgraph: mutates_boundary, no_output.", null=False),
        _column("detail", pa.string(), "Particulars, one line.", null=False),
    ]
)

_MINED_GRAPHS = pa.schema(
    [
        _signature(),
        _column("kind", pa.string(), "classical or fusible.", null=False),
        _column("grammar_id", pa.string(), "Grammar that read it.", null=False),
        _column("num_occurrences", pa.int32(), "Ranges that became occurrences.", null=False),
        _column("num_excluded", pa.int32(), "Ranges that became rows of excluded_ranges.", null=False),
    ]
)

SCHEMAS: Final[dict[str, pa.Schema]] = {
    "models": _MODELS,
    "graphs": _GRAPHS,
    "graph_texts": _GRAPH_TEXTS,
    "graph_sources": _GRAPH_SOURCES,
    "constraints": _CONSTRAINTS,
    "failures": _FAILURES,
    "nodes": _NODES,
    "custom_ops": _CUSTOM_OPS,
    "crosschecks": _CROSSCHECKS,
    "grammars": _GRAMMARS,
    "patterns": _PATTERNS,
    "subgraphs": _SUBGRAPHS,
    "subgraph_texts": _SUBGRAPH_TEXTS,
    "occurrences": _OCCURRENCES,
    "excluded_ranges": _EXCLUDED_RANGES,
    "mined_graphs": _MINED_GRAPHS,
}

KEYS: Final[dict[str, tuple[str, ...]]] = {
    "models": ("model_id",),
    "graphs": ("signature_sha256",),
    "graph_texts": ("signature_sha256",),
    "graph_sources": ("model_id", "part"),
    "constraints": ("signature_sha256", "constraint", "level"),
    "failures": ("subject", "step", "run_id"),
    "nodes": ("signature_sha256", "index"),
    "custom_ops": ("name",),
    "crosschecks": ("model_id", "run_id"),
    "grammars": ("grammar_id",),
    "patterns": ("grammar_id", "symbol"),
    "subgraphs": ("subgraph_sha256", "kind"),
    "subgraph_texts": ("subgraph_sha256",),
    "occurrences": ("subgraph_sha256", "kind", "signature_sha256", "start", "grammar_id"),
    "excluded_ranges": ("signature_sha256", "kind", "start", "end", "grammar_id"),
    "mined_graphs": ("signature_sha256", "kind", "grammar_id"),
}

APPEND_ONLY: Final = frozenset({"failures", "crosschecks"})
"""Tables whose rows are events: they are neither deduplicated nor required to have distinct keys."""

TABLE_DESCRIPTIONS: Final[dict[str, str]] = {
    "models": "Every model that a source named, traced or not.",
    "graphs": "Distinct graphs by signature.",
    "graph_texts": "Each graph as Python source.",
    "graph_sources": "Which traced model has which graph.",
    "constraints": "Verdicts on each graph.",
    "failures": "What was dropped, by which step, and why; append-only.",
    "nodes": "Every op of every graph.",
    "custom_ops": "Ops outside torch that graphs call.",
    "crosschecks": "The function mode against Dynamo, model by model; append-only.",
    "grammars": "What folding learned, from which set; its rows never change.",
    "patterns": "The recurring op sequences of each grammar, hierarchical.",
    "subgraphs": "Distinct subgraphs of each kind.",
    "subgraph_texts": "Each subgraph as Python source.",
    "occurrences": "Where subgraphs occur in graphs.",
    "excluded_ranges": "Ranges of graphs that are no subgraph, and why.",
    "mined_graphs": "Which graphs were searched, and what came of it.",
}


def describe(field: pa.Field) -> str:
    """Return a column's description, empty where the schema has none."""
    return _metadata(field).get(b"description", b"").decode()


def is_volatile(field: pa.Field) -> bool:
    """Tell whether two equal runs may fill this column differently."""
    return b"volatile" in _metadata(field)


def stable_columns(table: str) -> list[str]:
    """Return the columns of `table` that equal runs fill equally, in schema order."""
    return [field.name for field in SCHEMAS[table] if not is_volatile(field)]


def _metadata(field: pa.Field) -> dict[bytes, bytes]:
    return field.metadata or {}
