"""The kernels that Inductor plans for a program: its own scheduler, stopped before any code is written.

`compile_fx` runs as in `torch.compile`, on operands without memory, up to the node list of its scheduler; calling its
parts by hand gives other counts (kernel-curve-facts.md section 1). Patches torch, so only for a child process.
"""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any
from unittest.mock import patch

import sympy
import torch
from torch._decomp.decompositions_for_rng import PhiloxStateTracker
from torch._inductor import config, ir
from torch._inductor.compile_fx import compile_fx
from torch._inductor.graph import GraphLowering
from torch._inductor.scheduler import NopKernelSchedulerNode, WhyNoFuse

from extract.graph import Graph
from profiles.kernels.described_device import described_device
from profiles.kernels.program import OP_INDEX, program_of
from profiles.kernels.targets import Target

_COLLECT_AFTER = (100_000, 50, 1000)  # objects, then collections of the generation before; 5 to 10 % of planning's time


@dataclass(frozen=True, slots=True)
class PlannedKernel:
    """A kernel of a plan: the ops whose work it holds (indices of the graph; none for a copy that planning added),
    whether it is a call of a library, the scheduler's names of its parts, and of those that make what it reads."""

    ops: tuple[int, ...]
    is_extern: bool
    names: tuple[str, ...] = ()
    makers: tuple[str, ...] = ()
    extern_name: str = ""


@dataclass(frozen=True, slots=True)
class Refusal:
    """Two buffers' nodes that the scheduler looked at and did not fuse, by name, with its words."""

    first: str
    second: str
    reason: str


@dataclass(frozen=True, slots=True)
class Plan:
    """The kernels of a program in launch order, whether its layout is optimised, the fusions refused, the nodes of the
    aten graph that was lowered, operands and result left out, and before which kernels an element of a library call's
    result is taken (by place)."""

    kernels: tuple[PlannedKernel, ...]
    layout_opt: bool
    refusals: tuple[Refusal, ...]
    num_aten: int = 0
    unpacked: frozenset[int] = frozenset()

    @property
    def num_called(self) -> int:
        """Calls in the wrapper that Inductor writes for a CPU: neighbours that are no library calls become one, unless
        an element of a library call's result is taken between them."""
        flags = [kernel.is_extern for kernel in self.kernels]
        starts = (place == 0 or flags[place - 1] or place in self.unpacked for place in range(len(flags)))
        return sum(flag or is_start for flag, is_start in zip(flags, starts, strict=True))


_placeholder = GraphLowering.placeholder


class _Scheduled(BaseException):
    """Ends a compilation; not an Exception, which Inductor would wrap."""

    def __init__(self, lowering: GraphLowering) -> None:
        super().__init__()
        self.lowering = lowering


def _stop(lowering: GraphLowering) -> None:
    lowering.init_wrapper_code()
    lowering._update_scheduler()
    raise _Scheduled(lowering)


@contextlib.contextmanager
def planning_for(target: Target) -> Iterator[None]:
    """Let `plan` plan for a target within; entering costs a fraction of a second for a described GPU."""
    with contextlib.ExitStack() as stack:
        if target.description is not None:
            stack.enter_context(described_device(target.description))
            stack.enter_context(config.patch(shape_padding=False))
        stack.enter_context(config.patch(force_disable_caches=True, compile_threads=1))
        stack.enter_context(patch.object(GraphLowering, "compile_to_module", _stop))
        stack.enter_context(patch.object(PhiloxStateTracker, "reset", lambda: None))  # only for functionalize_rng_ops
        stack.enter_context(torch.no_grad())
        stack.enter_context(_collecting_seldom())
        yield


@contextlib.contextmanager
def _collecting_seldom() -> Iterator[None]:
    """Look for cyclic garbage less often within: a plan makes and drops some 10,000 objects that are none."""
    before = gc.get_threshold()
    gc.set_threshold(*_COLLECT_AFTER)
    try:
        yield
    finally:
        gc.set_threshold(*before)


def plan(
    graph: Graph,
    target: Target,
    layout_opt: bool | None = None,
    operand_strides: Sequence[tuple[int, ...]] | None = None,
) -> Plan:
    """Return the plan of a graph, within `planning_for(target)`; `layout_opt` overrules Inductor's own decision.

    `operand_strides` says how the operands of a window lie within a larger plan, one per entry of `graph.tensors`: all
    that goes by the strides of eager mode still goes by those recorded. Raises whatever torch raises for a program that
    it cannot compile.
    """
    module, operands = program_of(graph, target.device)
    refusals: list[Refusal] = []
    forced = {} if layout_opt is None else {"layout_optimization": layout_opt, "force_layout_optimization": layout_opt}
    with contextlib.ExitStack() as stack:
        stack.enter_context(patch.object(WhyNoFuse, "__call__", _noting(refusals)))
        stack.enter_context(config.patch(forced))
        if operand_strides is not None:
            stack.enter_context(patch.object(GraphLowering, "placeholder", _placing(operand_strides)))
        try:
            compile_fx(module, operands)
        except _Scheduled as scheduled:
            lowering = scheduled.lowering
        else:
            return Plan((), False, ())
    nodes = lowering.scheduler.nodes
    kernels = tuple(_kernel(node) for node in nodes if _is_launched(node))
    num_aten = sum(node.op not in ("placeholder", "output") for node in lowering.orig_gm.graph.nodes)
    return Plan(kernels, bool(lowering.layout_opt), tuple(refusals), num_aten, _unpacked(nodes))


def _placing(strides: Sequence[tuple[int, ...]]) -> Any:
    """Return a `GraphLowering.placeholder` that gives the n-th buffer the n-th strides."""
    pending = iter(strides)

    def place(lowering: GraphLowering, *args: Any) -> Any:
        value: Any = _placeholder(lowering, *args)
        if isinstance(value, ir.TensorBox):
            buffer: Any = value.data
            placed = [sympy.Integer(stride) for stride in next(pending)]
            old = buffer.data.layout
            buffer.data.layout = ir.FixedLayout(old.device, old.dtype, old.size, placed)
        return value

    return place


def _noting(refusals: list[Refusal]) -> Any:
    def note(why: Any, reason: str, *args: Any) -> None:
        why.reason, why.args = reason, args
        refusals.append(Refusal(why.name1, why.name2, reason % args if args else reason))

    return note


def _unpacked(nodes: Sequence[Any]) -> frozenset[int]:
    """Return before which launched nodes (by place among them) an element of a tuple is taken, which ends a run."""
    places: set[int] = set()
    place = 0
    for node in nodes:
        if isinstance(node.node, ir.MultiOutput):
            places.add(place)
        place += _is_launched(node)
    return frozenset(places)


def _is_launched(node: Any) -> bool:
    return not isinstance(node, NopKernelSchedulerNode) and not isinstance(node.node, ir.MultiOutput)


def _kernel(node: Any) -> PlannedKernel:
    parts = node.get_nodes()
    ops = {op for part in parts if part.node is not None for origin in part.node.origins for op in _op_of(origin)}
    names = tuple(part.get_name() for part in parts)
    extern = node.node.python_kernel_name or "" if node.is_extern() and hasattr(node.node, "python_kernel_name") else ""
    makers = tuple(sorted(_makers_of(node) - set(names)))
    return PlannedKernel(tuple(sorted(ops)), node.is_extern(), names, makers, extern)


def _makers_of(node: Any) -> set[str]:
    """Return the names of the nodes that make what a node reads."""
    made = node.scheduler.name_to_buf
    buffers = (made[dep.name] for dep in node.unmet_dependencies if dep.name in made)
    return {buffer.defining_op.get_name() for buffer in buffers if buffer.defining_op is not None}


def _op_of(origin: Any) -> Iterator[int]:
    custom = origin.meta.get("custom") or {}
    if OP_INDEX in custom:
        yield custom[OP_INDEX]
