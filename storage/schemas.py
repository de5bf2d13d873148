"""The tables of a corpus: one Arrow schema each, with a description per column, and the keys of their rows.

Column metadata: `description` (unit, source, meaning of null) and, on columns that two equal runs may fill
differently (times, seconds, run ids), `volatile`. Columns are only ever added within a schema version
(definitions.md section 7); what a column means is definitions.md sections 1 and 2.
"""

from __future__ import annotations

from typing import Final

import pyarrow as pa

from storage.bench_schemas import (
    BENCH_BUILDS,
    BENCH_CHECKS,
    BENCH_DROPPED,
    BENCH_LEAKAGE,
    BENCH_MEMBERS,
    BENCH_SELECTIONS,
    BENCH_TASKS,
)
from storage.columns import INT_LIST, TIMESTAMP, column, signature
from storage.curve_schemas import FUSION_BOUNDARIES, KERNEL_CURVES, WINDOW_COUNTS
from storage.instance_schemas import GENERALIZATIONS, INSTANCES, MISSING_INSTANCES, VARIANTS
from storage.mining_schemas import (
    EXCLUDED_RANGES,
    GRAMMARS,
    MINED_GRAPHS,
    OCCURRENCES,
    PATTERNS,
    SUBGRAPH_TEXTS,
    SUBGRAPHS,
)
from storage.timing_schemas import ENVIRONMENTS, PROFILE_RUNS, TIMINGS

SCHEMA_VERSION: Final = 12
GRAPH_ALGORITHM: Final = "passnet-graph/1"

TENSOR_TYPE: Final = pa.struct(
    [
        pa.field("name", pa.string()),
        pa.field("kind", pa.string()),
        pa.field("original_name", pa.string()),
        pa.field("shape", INT_LIST),
        pa.field("stride", INT_LIST),
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
        pa.field("shape", INT_LIST),
        pa.field("stride", INT_LIST),
        pa.field("dtype", pa.string()),
    ]
)


_MODELS = pa.schema(
    [
        column("model_id", pa.string(), "Source, slash, the source's own name.", null=False),
        column("source", pa.string(), "Who named the model: timm, transformers, hub, user, import.", null=False),
        column("framework", pa.string(), "Framework that the model is written in.", null=False),
        column("architecture", pa.string(), "The source's name of the architecture; null where it has none."),
        column("family", pa.string(), "Module or model type that the architecture belongs to; null if unknown."),
        column("config_sha256", pa.string(), "Canonical config, class, head and input; null where not computed."),
        column("revision", pa.string(), "Revision of the source's record; null where it has none."),
        column("domain", pa.string(), "nlp, cv, multimodal, audio or other; null if unknown."),
        column("licence", pa.string(), "Licence that the source states; null where it states none."),
        column("gated", pa.bool_(), "Whether the source asks for permission; null if unknown."),
        column("num_parameters", pa.int64(), "Parameters, tied ones once; null where the model was never built."),
        column("traced_from", pa.string(), "Model whose trace stands for this one; null when traced itself."),
        column("head", pa.string(), "Task head: base, causal-lm, ...; null where the source has no heads."),
        column("repairs", pa.string(), "Why the default config had to be repaired; null where it runs as published."),
        column("modalities", pa.list_(pa.string()), "Modalities that the forward takes; null if unknown."),
        column(
            "modalities_received",
            pa.list_(pa.string()),
            "Those of them that the traced program uses; null where not traced.",
        ),
        column("inputs", pa.list_(pa.string()), "Data inputs that the traced program uses; null where not traced."),
        column("num_guesses", pa.int32(), "Data-dependent values that the tracer guessed; null where not traced."),
        column(
            "parameters_used_frac",
            pa.float64(),
            "Share of the parameters (tensors, tied ones once) that the program uses; null where not traced.",
        ),
        column("unused_reason", pa.string(), "Why the other parameters take no part; null where not explained."),
        column("pipeline_tag", pa.string(), "Task that the Hub lists; null where it lists none, and elsewhere."),
        column(
            "downloads", pa.int64(), "Downloads of the last 30 days that the Hub lists; null elsewhere.", volatile=True
        ),
        column("last_modified", TIMESTAMP, "When the repository last changed (UTC); null where there is none."),
    ]
)

_MODEL_CONFIGS = pa.schema(
    [
        column("config_sha256", pa.string(), "Canonical config, class, head and input.", null=False),
        column("library", pa.string(), "Library that builds the model: transformers or timm.", null=False),
        column("model_class", pa.string(), "Class of transformers, or architecture of timm.", null=False),
        column("model_type", pa.string(), "Type of the config in transformers; timm's architecture.", null=False),
        column("head", pa.string(), "Task head; null where the library has no heads."),
        column(
            "config",
            pa.large_string(),
            "JSON of the config that the trace was built from: the repository's, less fields that cannot change the "
            "graph.",
            null=False,
        ),
        column(
            "code",
            pa.large_string(),
            "JSON of the repository's own code that builds the model (classes and files); null: a library's class.",
        ),
    ]
)

_GRAPHS = pa.schema(
    [
        signature(),
        column("graph_sha256", pa.string(), "Identity of the program: ops, edges and literals.", null=False),
        column("structure_sha256", pa.string(), "The program with its size arguments masked.", null=False),
        column("op_sequence", pa.list_(pa.string()), "Canonical op names in recorded order.", null=False),
        column("op_sequence_xxh3", pa.string(), "xxh3-128 (hex) of the op names joined by newline."),
        column("num_ops", pa.int32(), "Ops in the graph.", null=False),
        column("num_inputs", pa.int32(), "Tensors of kind input.", null=False),
        column("num_weights", pa.int32(), "Tensors of kind parameter, buffer or constant.", null=False),
        column(
            "tensors",
            pa.list_(TENSOR_TYPE),
            "Tensors from outside, in order. mean to max: null where unknown, stats_source says how they are known "
            "(values, role, none). data: flat values below 64 elements, else null; data_exact: the same as decimal "
            "text where doubles would round them, else null.",
            null=False,
        ),
        column("dtype", pa.string(), "Commonest floating dtype among what the ops return; null where there is none."),
        column("domain", pa.string(), "Domain of the model first seen with this graph; null if unknown."),
        column(
            "tracer",
            pa.string(),
            "What recorded the graph: function_mode, dynamo, or foreign (an imported sample of others).",
            null=False,
        ),
        column(
            "tensor_mode",
            pa.string(),
            "Tensors that the trace ran on: meta, fake, real, or unknown (of others).",
            null=False,
        ),
        column("num_value_reads", pa.int32(), "Times Python read a tensor's value during the trace.", null=False),
        column("value_reads", pa.list_(VALUE_READ_TYPE), "Those reads, in order.", null=False),
    ]
)

_GRAPH_TEXTS = pa.schema(
    [signature(), column("model_py", pa.large_string(), "The program as Python source, one op a line.", null=False)]
)

_GRAPH_SOURCES = pa.schema(
    [
        column("model_id", pa.string(), "Model that was traced.", null=False),
        column(
            "part",
            pa.int32(),
            "0: the whole program, by the function mode. Dynamo's graphs are parts 1 to n of a model that had to run "
            "on real tensors, 0 to n - 1 where Dynamo is the tracer.",
            null=False,
        ),
        signature(),
        column(
            "tracer", pa.string(), "What recorded this part: function_mode, dynamo or foreign; null in older shards."
        ),
        column(
            "break_reason",
            pa.string(),
            "What ended a part of Dynamo's, with file:line of the model's code; null where it ran to the end of a "
            "function, and for the function mode.",
        ),
        column("torch_version", pa.string(), "torch that traced it; unknown where a sample does not say.", null=False),
        column("build_seconds", pa.float64(), "Seconds to build the model; null if not measured.", volatile=True),
        column("trace_seconds", pa.float64(), "Seconds to trace the model; null if not measured.", volatile=True),
        column("traced_at", TIMESTAMP, "When it was traced (UTC).", null=False, volatile=True),
        column("run_id", pa.string(), "Run that brought the graph; null in older shards.", volatile=True),
    ]
)

_CONSTRAINTS = pa.schema(
    [
        signature(),
        column("constraint", pa.string(), "Which check (definitions.md section 2).", null=False),
        column("outcome", pa.string(), "passed, failed or not_applicable.", null=False),
        column(
            "level",
            pa.string(),
            "static (by text alone), fake or real tensors; levels stand beside each other, the view "
            "current_constraints gives the highest.",
            null=False,
        ),
        column("reason", pa.string(), "Why it failed, or a finding; null when there is none."),
        column("detail", pa.string(), "Particulars of the reason; null when there are none."),
        column("seconds", pa.float64(), "Seconds that the check took; null if not measured.", volatile=True),
    ]
)

_FAILURES = pa.schema(
    [
        column("subject", pa.string(), "What was dropped: the id of a model, a graph, ...", null=False),
        column("step", pa.string(), "Step that dropped it.", null=False),
        column("reason", pa.string(), "A value of extract.failure.Reason.", null=False),
        column("detail", pa.string(), "The error's own words, one line.", null=False),
        column("step_version", pa.int32(), "Version of the step: a deterministic failure is retried when it changes."),
        column("run_id", pa.string(), "Run that met the failure.", null=False, volatile=True),
        column("seconds", pa.float64(), "Seconds spent on the subject; null if not measured.", volatile=True),
        column("at", TIMESTAMP, "When it failed (UTC).", null=False, volatile=True),
    ]
)

_NODES = pa.schema(
    [
        signature(),
        column("index", pa.int32(), "Position of the op in recorded order, from 0.", null=False),
        column("op", pa.string(), "Canonical op name, the same for all spellings.", null=False),
        column("target", pa.string(), "Public spelling that was called.", null=False),
        column("operands", pa.list_(pa.int32()), "Refs in argument order: op index, or -1 - tensor index.", null=False),
        column(
            "literals",
            pa.string(),
            'Arguments as one JSON text; operands are {"op": [index, ...]} or {"tensor": index}.',
            null=False,
        ),
        column("output_shape", INT_LIST, "Shape of the first tensor returned; null when none is."),
        column("output_dtype", pa.string(), "dtype of the first tensor returned; null when none is."),
        column("outputs", pa.list_(OUTPUT_TYPE), "Every tensor returned; stride counts elements.", null=False),
        column("single_op_sha256", pa.string(), "Single-op key (definitions.md section 3).", null=False),
        column(
            "operand_ops",
            pa.string(),
            "What made each operand, in the order of `operands`, a space between: op name, or input, parameter, "
            "buffer, constant. Null in older shards, like the columns that follow.",
        ),
        column(
            "operand_shapes",
            pa.string(),
            "Shape of each operand as JSON, null for an operand that is no tensor: `operand_shapes::BIGINT[][]`.",
        ),
        column(
            "operand_bytes", pa.int64(), "Bytes of the distinct operands; null where a dtype's size is unknown too."
        ),
        column("output_bytes", pa.int64(), "Bytes of every tensor returned, views too; null as `operand_bytes`."),
        column("depth", pa.int32(), "Ops on the longest path of operands that ends with this op, itself counted."),
    ]
)

_CUSTOM_OPS = pa.schema(
    [
        column("name", pa.string(), "namespace.name, overload dropped.", null=False),
        column("schema", pa.string(), "torch's schema text; null if unknown."),
        column("source", pa.string(), "Python source file that registers the op; null where unavailable."),
        column("licence", pa.string(), "Licence of that source; null if unknown."),
    ]
)

_CROSSCHECKS = pa.schema(
    [
        column("model_id", pa.string(), "Model that both tracers traced.", null=False),
        column("equal_graph", pa.bool_(), "Equal graph_sha256 under `conditions`; null: a tracer failed."),
        column("equal_structure", pa.bool_(), "Equal structure_sha256; null: a tracer failed."),
        column(
            "equal_ops", pa.bool_(), "Equal op sequence, Dynamo's parts one after the other; null: a tracer failed."
        ),
        column(
            "equal_output",
            pa.bool_(),
            "Both graphs give equal bits on the same weights and inputs; null where Dynamo has several parts or a "
            "replay failed.",
        ),
        column(
            "max_rel_diff", pa.float64(), "Largest difference between those outputs, relative to the largest value."
        ),
        column("equal_eager", pa.bool_(), "The stored graph gives the bits that the module gives; null: not run."),
        column(
            "conditions",
            pa.string(),
            "Under which the two were compared: eager (each as it is), eager_judged (Dynamo says that nothing is being "
            "compiled), compiling (our trace says that it is); the first under which the graphs, else the op "
            "sequences, are equal. Null: a tracer failed.",
        ),
        column(
            "cause",
            pa.string(),
            "Why they differ, as extract.differences.Cause; not_compared where no comparison came about; null where "
            "the graphs are equal under eager.",
        ),
        column("detail", pa.string(), "Particulars of the cause, one line; null when there is none."),
        column("num_ops_function", pa.int32(), "Ops of the stored graph; null: it could not be traced."),
        column("num_ops_dynamo", pa.int32(), "Ops of Dynamo's graphs as they are; null: Dynamo failed."),
        column("num_breaks", pa.int32(), "Dynamo's graphs less one; null: Dynamo failed."),
        column("seconds", pa.float64(), "Wall time of the comparison; null if not measured.", volatile=True),
        column("run_id", pa.string(), "Run that compared them.", null=False, volatile=True),
        column("torch_version", pa.string(), "torch of both tracers.", null=False),
        column("at", TIMESTAMP, "When they were compared (UTC).", null=False, volatile=True),
    ]
)

_SAMPLES = pa.schema(
    [
        column("model_id", pa.string(), "Model that the sample stands for.", null=False),
        column("part", pa.int32(), "Which of the model's graphs, from the folder subgraph_<part>; else 0.", null=False),
        column("imported_from", pa.string(), "Folder of the sample below the path that was imported.", null=False),
        column("is_ours", pa.bool_(), "Whether the files were written by `passnet export` and not edited.", null=False),
        column("graph_net", pa.string(), "Keys of graph_net.json that are not ours, as JSON; null: no such file."),
        column("graph_hash", pa.string(), "graph_hash.txt as it came, of whatever algorithm; null: no such file."),
        column("input_constraints", pa.string(), "input_tensor_constraints.py as it came; null: empty or absent."),
        column("subgraph_sources", pa.string(), "subgraph_sources.json as it came; null: no such file."),
        column("symbols", pa.string(), "Numbers put in place of dynamic sizes, as JSON; null: no such sizes."),
        column("files_sha256", pa.string(), "Identity of the files' names and bytes.", null=False),
    ]
)

SCHEMAS: Final[dict[str, pa.Schema]] = {
    "models": _MODELS,
    "model_configs": _MODEL_CONFIGS,
    "graphs": _GRAPHS,
    "graph_texts": _GRAPH_TEXTS,
    "graph_sources": _GRAPH_SOURCES,
    "constraints": _CONSTRAINTS,
    "failures": _FAILURES,
    "nodes": _NODES,
    "custom_ops": _CUSTOM_OPS,
    "crosschecks": _CROSSCHECKS,
    "samples": _SAMPLES,
    "grammars": GRAMMARS,
    "patterns": PATTERNS,
    "subgraphs": SUBGRAPHS,
    "subgraph_texts": SUBGRAPH_TEXTS,
    "occurrences": OCCURRENCES,
    "excluded_ranges": EXCLUDED_RANGES,
    "mined_graphs": MINED_GRAPHS,
    "kernel_curves": KERNEL_CURVES,
    "fusion_boundaries": FUSION_BOUNDARIES,
    "window_counts": WINDOW_COUNTS,
    "variants": VARIANTS,
    "generalizations": GENERALIZATIONS,
    "instances": INSTANCES,
    "missing_instances": MISSING_INSTANCES,
    "timings": TIMINGS,
    "environments": ENVIRONMENTS,
    "profile_runs": PROFILE_RUNS,
    "bench_tasks": BENCH_TASKS,
    "bench_members": BENCH_MEMBERS,
    "bench_builds": BENCH_BUILDS,
    "bench_selections": BENCH_SELECTIONS,
    "bench_leakage": BENCH_LEAKAGE,
    "bench_dropped": BENCH_DROPPED,
    "bench_checks": BENCH_CHECKS,
}

KEYS: Final[dict[str, tuple[str, ...]]] = {
    "models": ("model_id",),
    "model_configs": ("config_sha256",),
    "graphs": ("signature_sha256",),
    "graph_texts": ("signature_sha256",),
    "graph_sources": ("model_id", "part"),
    "constraints": ("signature_sha256", "constraint", "level"),
    "failures": ("subject", "step", "run_id"),
    "nodes": ("signature_sha256", "index"),
    "custom_ops": ("name",),
    "crosschecks": ("model_id", "run_id"),
    "samples": ("model_id", "part"),
    "grammars": ("grammar_id",),
    "patterns": ("grammar_id", "symbol"),
    "subgraphs": ("subgraph_sha256", "kind"),
    "subgraph_texts": ("subgraph_sha256",),
    "occurrences": ("subgraph_sha256", "kind", "signature_sha256", "start", "grammar_id"),
    "excluded_ranges": ("signature_sha256", "kind", "start", "end", "grammar_id"),
    "mined_graphs": ("signature_sha256", "kind", "grammar_id"),
    "kernel_curves": ("signature_sha256", "target", "counter", "is_exact"),
    "fusion_boundaries": ("signature_sha256", "target", "counter", "is_exact", "position"),
    "window_counts": ("window_key",),
    "variants": ("model_id", "shape_config", "dtype", "num_ops"),
    "generalizations": ("subgraph_sha256",),
    "instances": ("subgraph_sha256", "shape_config", "dtype"),
    "missing_instances": ("subgraph_sha256", "shape_config", "dtype"),
    "timings": ("instance_sha256", "backend", "device_id", "environment_sha256", "run_id", "cache"),
    "environments": ("environment_sha256",),
    "profile_runs": ("run_id", "device_id"),
    "bench_tasks": ("task_id",),
    "bench_members": ("task_id", "position"),
    "bench_builds": ("algorithm",),
    "bench_selections": ("kind", "method"),
    "bench_leakage": ("evaluation_kind", "evaluation_xxh3", "training_kind", "training_xxh3"),
    "bench_dropped": ("task_id",),
    "bench_checks": ("instance_sha256", "algorithm"),
}

APPEND_ONLY: Final = frozenset({"failures", "crosschecks"})
"""Tables whose rows are events: they are neither deduplicated nor required to have distinct keys."""

TABLE_DESCRIPTIONS: Final[dict[str, str]] = {
    "models": "Every model that a source named, traced or not.",
    "model_configs": "Distinct configs of the Hub's models, enough to build them again.",
    "graphs": "Distinct graphs by signature.",
    "graph_texts": "Each graph as Python source.",
    "graph_sources": "Which traced model has which graph.",
    "constraints": "Verdicts on each graph.",
    "failures": "What was dropped, by which step, and why; append-only.",
    "nodes": "Every op of every graph.",
    "custom_ops": "Ops outside torch that graphs call.",
    "crosschecks": "The function mode against Dynamo, model by model; append-only.",
    "samples": "What the files of imported samples say beside their graphs.",
    "grammars": "What folding learned, from which set; its rows never change.",
    "patterns": "The recurring op sequences of each grammar, hierarchical.",
    "subgraphs": "Distinct subgraphs of each kind.",
    "subgraph_texts": "Each subgraph as Python source.",
    "occurrences": "Where subgraphs occur in graphs.",
    "excluded_ranges": "Ranges of graphs that are no subgraph, and why.",
    "mined_graphs": "Which graphs were searched, and what came of it.",
    "kernel_curves": "How many kernels the first ops of a graph are compiled to, op by op.",
    "fusion_boundaries": "Each step of a curve up, and why the op joined no kernel before it.",
    "window_counts": "Counts of small programs that curves share; known ones are not planned again.",
    "variants": "Models traced again at other sizes and in other dtypes, or why not.",
    "generalizations": "Subgraphs that were generalized: from which model, and what their sizes follow from.",
    "instances": "Subgraphs at a shape and in a dtype, as recipes.",
    "missing_instances": "Shapes and dtypes of a subgraph that are no instance, and why.",
    "timings": "Instances timed under a backend on a device, run by run, and how their outputs compare with eager's.",
    "environments": "Hardware and software that times hold for.",
    "profile_runs": "Runs that timed instances: settings, state of the device, fixed overhead of each backend.",
    "bench_tasks": "Tasks of PassBench: groups of instances of one op sequence, for training or evaluation.",
    "bench_members": "The instances of each task.",
    "bench_builds": "How the tasks were built: one row.",
    "bench_selections": "How op sequences were selected for evaluation, beside two other ways.",
    "bench_leakage": "Pairs of op sequences across the split that leak or resemble each other.",
    "bench_dropped": "Groups that are no task, and why.",
    "bench_checks": "Instances that were run to see whether they make a task, and what null submissions reach on them.",
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
