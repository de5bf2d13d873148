"""The tables of PassBench: its tasks, each a group of instances of one op sequence, and their members."""

from __future__ import annotations

import pyarrow as pa

from storage.columns import column

BENCH_TASKS = pa.schema(
    [
        column("task_id", pa.string(), "Identity of the group: SHA-256 of rule and sorted members.", null=False),
        column("kind", pa.string(), "fusible, classical or single_op; the first of these that it is.", null=False),
        column("split", pa.string(), "train or eval.", null=False),
        column(
            "rule",
            pa.string(),
            "What grouped the members: single, triple, cross_shape or cross_dtype (definitions.md, section 6).",
            null=False,
        ),
        column("op_sequence", pa.list_(pa.string()), "Canonical op names of each member, in order.", null=False),
        column("op_sequence_xxh3", pa.string(), "xxh3-128 (hex) of the op names joined by newline.", null=False),
        column("num_ops", pa.int32(), "Ops of each member.", null=False),
        column("num_members", pa.int32(), "Rows of bench_members.", null=False),
        column("num_shapes", pa.int32(), "Distinct shape buckets of the members.", null=False),
        column("dtypes", pa.list_(pa.string()), "Types of the weights of the members' models, sorted.", null=False),
        column(
            "families",
            pa.list_(pa.string()),
            "Families of the models that the members were traced from, sorted; unknown ones are left out.",
            null=False,
        ),
        column("structures", pa.list_(pa.string()), "structure_sha256 of the members, sorted, each once.", null=False),
        column("sigma", pa.int32(), "One instance in so many is a task of its own (rule single).", null=False),
        column("algorithm", pa.string(), "Algorithm of the groups, with its version.", null=False),
    ]
)

BENCH_MEMBERS = pa.schema(
    [
        column("task_id", pa.string(), "Task.", null=False),
        column("position", pa.int32(), "Place in the task, from 0, by instance_sha256.", null=False),
        column(
            "instance_sha256", pa.string(), "Instance: rows of instances, the first by key to render it.", null=False
        ),
    ]
)
