"""The tables of PassBench: tasks, members, how they were chosen, what was left out, and checks of instances.

A build writes all of them anew but `bench_checks`, which any build adds to.
"""

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

BENCH_BUILDS = pa.schema(
    [
        column("algorithm", pa.string(), "Algorithm of the groups, with its version.", null=False),
        column(
            "config", pa.string(), "Settings of the build as JSON: sigma, sequences per kind, seed, ...", null=False
        ),
        column("base", pa.string(), "Former build whose tasks were kept, as it was named; null: none."),
        column("num_base_tasks", pa.int32(), "Tasks that are the former build's.", null=False),
        column("num_groups", pa.int32(), "Groups of all rules that tasks were chosen from.", null=False),
    ]
)

BENCH_SELECTIONS = pa.schema(
    [
        column("kind", pa.string(), "fusible, classical or single_op.", null=False),
        column("method", pa.string(), "hmm, markov or random.", null=False),
        column("is_used", pa.bool_(), "Whether the evaluation side is this selection; the others compare.", null=False),
        column("num_selected", pa.int32(), "Op sequences selected.", null=False),
        column("num_sequences", pa.int32(), "Op sequences that were selected from.", null=False),
        column("transition_frac", pa.float64(), "Share of the distinct pairs of neighbouring ops that is selected."),
        column("transition_weighted_frac", pa.float64(), "The same, pairs weighted by the instances that have them."),
        column("op_frac", pa.float64(), "Share of the distinct ops that is selected."),
        column("op_weighted_frac", pa.float64(), "The same, ops weighted by the instances that have them."),
        column("num_families", pa.int32(), "Model families of the selected sequences.", null=False),
        column("family_frac", pa.float64(), "Share of the families of all sequences."),
        column("model", pa.string(), "Parameters of the hidden Markov model as JSON; null for other methods."),
    ]
)

BENCH_LEAKAGE = pa.schema(
    [
        column("evaluation_kind", pa.string(), "Kind of the evaluation sequence.", null=False),
        column("evaluation_xxh3", pa.string(), "op_sequence_xxh3 of the evaluation sequence.", null=False),
        column("training_kind", pa.string(), "Kind of the other sequence.", null=False),
        column("training_xxh3", pa.string(), "op_sequence_xxh3 of the other sequence.", null=False),
        column(
            "relation",
            pa.string(),
            "equal_sequence, contained or equal_structure (leaks, definitions.md section 6), or near_duplicate.",
            null=False,
        ),
        column(
            "jaccard", pa.float64(), "Estimated similarity of a near duplicate, by runs of three ops; null for leaks."
        ),
        column("is_dropped", pa.bool_(), "Whether the other sequence is kept out of training for it.", null=False),
    ]
)

BENCH_DROPPED = pa.schema(
    [
        column("task_id", pa.string(), "Group that is no task.", null=False),
        column("kind", pa.string(), "fusible, classical or single_op.", null=False),
        column("split", pa.string(), "Side that it was left out of: train or eval.", null=False),
        column("rule", pa.string(), "What grouped the members.", null=False),
        column("op_sequence_xxh3", pa.string(), "xxh3-128 (hex) of the op names joined by newline.", null=False),
        column("num_members", pa.int32(), "Instances of the group.", null=False),
        column(
            "reason",
            pa.string(),
            "leak, family (its families are not all on that side), a reason of bench_checks, evaluated (its sequence "
            "is, by another group), or not_drawn (another of its sequence and rule is).",
            null=False,
        ),
        column(
            "detail",
            pa.string(),
            "How it leaks and which evaluation sequence, what the check said, or that a former build's task stands for "
            "it (`--base`); null: nothing.",
        ),
    ]
)

BENCH_CHECKS = pa.schema(
    [
        column(
            "instance_sha256", pa.string(), "Instance: rows of instances, the first by key to render it.", null=False
        ),
        column("algorithm", pa.string(), "How instances are checked, with its version.", null=False),
        column("num_draws", pa.int32(), "Draws of operands that it was run on.", null=False),
        column(
            "reason",
            pa.string(),
            "Why it makes no task: raises, out_of_memory, timeout, crashed, no_output, launches_nothing, not_finite, "
            "non_deterministic, constant, identity, zeros, ones or mean; the first that holds; null: it may be one.",
        ),
        column("detail", pa.string(), "One line; null where the reason says all."),
        column("zeros_level", pa.int32(), "Smallest t at which outputs of zeros pass on any draw; null: at none."),
        column("ones_level", pa.int32(), "The same of ones."),
        column("mean_level", pa.int32(), "The same of each output's mean."),
        column(
            "identity_level", pa.int32(), "The same of an operand of the same shape and dtype; null also without one."
        ),
        column(
            "seconds", pa.float64(), "Time that the check took, wall; of a timeout what it was given.", volatile=True
        ),
    ]
)
