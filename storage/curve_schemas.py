"""The tables of kernel curves: the curves, why they step up, and the counts that they share."""

from __future__ import annotations

import pyarrow as pa

from storage.columns import column, signature

_TARGET = "Device that was planned for: cpu, or a GPU by description (cuda:a30, ...)."
_COUNTER = "What counted: scheduler (planned kernels), called (a CPU wrapper's calls), profiler (a device's launches)."
_REASON = (
    "extern_kernel, extern_producer, backend_refused, layout_copy, no_candidate, no_kernel, or what the scheduler said "
    "of the pair that it refused last (no_shared_data, other_work_between, memory_order_differs, ...)."
)

KERNEL_CURVES = pa.schema(
    [
        signature(),
        column("target", pa.string(), _TARGET, null=False),
        column("counter", pa.string(), _COUNTER, null=False),
        column("is_exact", pa.bool_(), "Whether every prefix was counted in full; else most by windows.", null=False),
        column(
            "kernels",
            pa.list_(pa.int32()),
            "K(1), K(2), ...: kernels of the first P ops; null where they cannot be planned.",
            null=False,
        ),
        column(
            "kernels_called",
            pa.list_(pa.int32()),
            "Calls in a CPU wrapper of the first P ops; null where not counted in full, and for a GPU.",
        ),
        column("num_full", pa.int32(), "Positions counted in full.", null=False),
        column("num_flagged", pa.int32(), "Positions for which the rules asked that.", null=False),
        column("num_checked", pa.int32(), "Windows counted again with 64 ops before them.", null=False),
        column("num_wrong", pa.int32(), "Of these, how many disagreed.", null=False),
        column("is_calibrated", pa.bool_(), "Whether a real GPU of the kind confirmed the plan's rules.", null=False),
        column("torch_version", pa.string(), "torch whose planning it is.", null=False),
        column("algorithm", pa.string(), "Algorithm of the curve, with its version.", null=False),
        column("num_counted", pa.int32(), "Programs planned for it now; the others were known.", volatile=True),
        column("seconds", pa.float64(), "Time that planning took, wall.", volatile=True),
    ]
)

FUSION_BOUNDARIES = pa.schema(
    [
        signature(),
        column("target", pa.string(), _TARGET, null=False),
        column("counter", pa.string(), _COUNTER, null=False),
        column("is_exact", pa.bool_(), "As in kernel_curves.", null=False),
        column("position", pa.int32(), "P with K(P) > K(P-1): the op is nodes.index P-1.", null=False),
        column("op", pa.string(), "Canonical name of that op.", null=False),
        column("step", pa.int32(), "K(P) - K(P-1).", null=False),
        column("reason", pa.string(), _REASON, null=False),
        column("detail", pa.string(), "The library call, or the scheduler's own words.", null=False),
        column("other_op", pa.int32(), "Op (nodes.index) that it could not join; null: none is to blame."),
    ]
)

WINDOW_COUNTS = pa.schema(
    [
        column(
            "window_key",
            pa.string(),
            "Identity of a program with shapes, strides, dtypes, layout decision, target, torch version.",
            null=False,
        ),
        column("target", pa.string(), _TARGET, null=False),
        column("torch_version", pa.string(), "torch whose planning it is.", null=False),
        column("kernels", pa.int32(), "Kernels planned; null where it cannot be planned."),
        column("called", pa.int32(), "Calls in a CPU wrapper; null where it cannot be planned."),
        column("num_aten", pa.int32(), "Nodes of its aten graph, operands left out.", null=False),
        column("layout_opt", pa.bool_(), "Whether its layout is optimised.", null=False),
        column("reason", pa.string(), "Why its last op has a kernel of its own, or why it cannot be planned."),
        column("detail", pa.string(), "Particulars of the reason."),
        column("other_op", pa.int32(), "Op that the last one could not join, by place in the program."),
    ]
)
