"""The tables of mining: grammars, subgraphs and where they occur; `storage.schemas` lists them with the others."""

from __future__ import annotations

import pyarrow as pa

from storage.columns import TIMESTAMP, column, signature

GRAMMARS = pa.schema(
    [
        column("grammar_id", pa.string(), "Hash of the set of graphs it was learned from and its bounds.", null=False),
        column("num_graphs", pa.int32(), "Distinct graphs (graph_sha256) that it was learned from.", null=False),
        column("num_folds", pa.int32(), "Folds at most.", null=False),
        column("max_length", pa.int32(), "Longest pattern body, in symbols.", null=False),
        column("at", TIMESTAMP, "When it was learned (UTC); the latest is the one in use.", volatile=True),
    ]
)

PATTERNS = pa.schema(
    [
        column("grammar_id", pa.string(), "Grammar that the pattern belongs to.", null=False),
        column("symbol", pa.int32(), "Number of the pattern: the fold that made it, from 0.", null=False),
        column("body", pa.list_(pa.string()), "Op names, and #n for an earlier pattern.", null=False),
        column("expansion", pa.list_(pa.string()), "The op names that it stands for.", null=False),
        column("length", pa.int32(), "Ops in the expansion.", null=False),
        column("depth", pa.int32(), "How deep patterns nest in it; 1: op names alone.", null=False),
        column("count", pa.int32(), "Disjoint places where the fold put it, when learned.", null=False),
        column("families", pa.list_(pa.string()), "Families of the models whose graphs hold it, when learned."),
    ]
)

SUBGRAPHS = pa.schema(
    [
        column(
            "subgraph_sha256",
            pa.string(),
            "graph_sha256 of the cut; for single_op the single-op key, as in nodes.single_op_sha256.",
            null=False,
        ),
        column("kind", pa.string(), "classical, fusible or single_op.", null=False),
        column("structure_sha256", pa.string(), "The program with its size arguments masked; null for single_op."),
        column("op_sequence", pa.list_(pa.string()), "Canonical op names in recorded order.", null=False),
        column("op_sequence_xxh3", pa.string(), "xxh3-128 (hex) of the op names joined by newline.", null=False),
        column("num_ops", pa.int32(), "Ops in the subgraph.", null=False),
        column("num_inputs", pa.int32(), "Operands from outside, weights included.", null=False),
        column("num_outputs", pa.int32(), "Values used later or returned; null for single_op."),
        column("connected", pa.bool_(), "Whether its ops hang together by what they pass to each other.", null=False),
        column("pattern", pa.int32(), "Lowest symbol of the grammar with this op sequence; null unless classical."),
        column(
            "num_trailing_views",
            pa.int32(),
            "Ops at the end that only view what is before them; null for single_op and where mined before schema 5.",
        ),
    ]
)

SUBGRAPH_TEXTS = pa.schema(
    [
        column("subgraph_sha256", pa.string(), "Subgraph.", null=False),
        column(
            "model_py", pa.large_string(), "Its program in canonical spelling; equal hashes, equal texts.", null=False
        ),
    ]
)

OCCURRENCES = pa.schema(
    [
        column("subgraph_sha256", pa.string(), "Subgraph.", null=False),
        column(
            "kind", pa.string(), "classical or fusible; single ops are the column nodes.single_op_sha256.", null=False
        ),
        signature(),
        column("start", pa.int32(), "First op, an index of nodes.", null=False),
        column("end", pa.int32(), "Op after the last.", null=False),
        column("grammar_id", pa.string(), "Grammar, or for fusible the set of curves, that found it.", null=False),
    ]
)

EXCLUDED_RANGES = pa.schema(
    [
        signature(),
        column("kind", pa.string(), "classical or fusible.", null=False),
        column("start", pa.int32(), "First op, an index of nodes.", null=False),
        column("end", pa.int32(), "Op after the last.", null=False),
        column("grammar_id", pa.string(), "Grammar that found it.", null=False),
        column("reason", pa.string(), "Why it is no subgraph: mutates_boundary, no_output, too_long.", null=False),
        column("detail", pa.string(), "Particulars, one line.", null=False),
    ]
)

MINED_GRAPHS = pa.schema(
    [
        signature(),
        column("kind", pa.string(), "classical or fusible.", null=False),
        column("grammar_id", pa.string(), "Grammar that read it.", null=False),
        column("num_occurrences", pa.int32(), "Ranges that became occurrences.", null=False),
        column("num_excluded", pa.int32(), "Ranges that became rows of excluded_ranges.", null=False),
    ]
)
