"""Why the last op of a planned program has a kernel of its own: the scheduler's words, sorted into a few reasons."""

from __future__ import annotations

from profiles.kernels.scheduler import Plan, PlannedKernel, Refusal

_REASONS = (
    ("node1 is extern", "extern_producer"),
    ("node2 is extern", "extern_consumer"),
    ("no shared data", "no_shared_data"),
    ("score_fusion_memory", "too_little_shared_data"),
    ("fusion scored too low", "too_little_shared_data"),
    ("intermediate nodes between", "other_work_between"),
    ("memory deps did not match", "memory_order_differs"),
    ("will create cycle", "cycle"),
    ("device mismatch", "device_differs"),
    ("numel/rnumel mismatch", "iteration_space_differs"),
    ("nodes numel", "iteration_space_differs"),
    ("node1 must go before node2", "other_work_between"),
    ("exceeds max fusion", "too_many_nodes"),
    ("will increase peak memory", "peak_memory"),
)
_DETAIL_CHARS = 200


def explain_boundary(plan: Plan, op: int) -> tuple[str, str, int | None]:
    """Return the reason, the scheduler's own words and the op that `op` could not join (None: none is to blame).

    Reasons: `extern_kernel` (a library call), those of the scheduler for the pair that it refused last,
    `extern_producer` (what the op reads comes from a library call), `backend_refused` (a rule of the target's code
    generator, which gives no words), `layout_copy` (planning stored the op's values twice), `no_candidate` where
    nothing before it shares a buffer, `no_kernel` where the op launches none.
    """
    own = [kernel for kernel in plan.kernels if op in kernel.ops]
    if not own:
        return "no_kernel", "the op launches nothing; what it reads is stored now", None
    extern = next((kernel for kernel in own if kernel.is_extern), None)
    if extern is not None:
        return "extern_kernel", extern.extern_name or "library call", None
    names = {name for kernel in own for name in kernel.names}
    makers = {name for kernel in own for name in kernel.makers}
    refused = [(refusal, other) for refusal in reversed(plan.refusals) if (other := _other_side(refusal, names))]
    if refused:
        refusal, other = min(refused, key=lambda pair: not pair[1] & makers)  # of what it reads from, if of any
        return _reason_of(refusal.reason), _one_line(refusal.reason), _op_among(plan.kernels, other)
    for kernel in plan.kernels:
        if kernel.is_extern and makers & set(kernel.names):
            return "extern_producer", kernel.extern_name or "library call", max(kernel.ops, default=None)
    for kernel in plan.kernels:
        if makers & set(kernel.names):
            return "backend_refused", "the target's own rule, which says no more", max(kernel.ops, default=None)
    if len(own) > 1:
        return "layout_copy", "stored once more in another order", None
    return "no_candidate", "shares no buffer with a kernel before it", None


def _other_side(refusal: Refusal, names: set[str]) -> set[str] | None:
    first, second = _nodes_of(refusal.first), _nodes_of(refusal.second)
    if first <= names and not second & names:
        return second
    return first if second <= names and not first & names else None


def _nodes_of(name: str) -> set[str]:
    return set(name.split("_"))


def _op_among(kernels: tuple[PlannedKernel, ...], names: set[str]) -> int | None:
    return next((max(kernel.ops) for kernel in kernels if kernel.ops and names & set(kernel.names)), None)


def _reason_of(text: str) -> str:
    return next((reason for beginning, reason in _REASONS if beginning in text), "other")


def _one_line(text: str) -> str:
    return " ".join(text.split())[:_DETAIL_CHARS]
