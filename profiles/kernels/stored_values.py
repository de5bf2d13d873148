"""Which values a plan stores, and how they lie in memory there: read off Inductor's plan of a whole graph.

For graphs whose layouts depend on ops far apart (a convolution takes a view), where a guess from ops nearby is often
wrong. Patches torch, so only for a child process.
"""

from __future__ import annotations

from typing import Any
from unittest.mock import patch

from torch import fx
from torch._inductor import ir
from torch._inductor.graph import GraphLowering
from torch._inductor.virtualized import V

from extract.graph import Graph, OpRef
from profiles.kernels.program import OP_INDEX
from profiles.kernels.scheduler import Plan, plan
from profiles.kernels.targets import Target
from profiles.kernels.windows import StoredValues, Strides


def plan_values(graph: Graph, target: Target) -> tuple[Plan, StoredValues]:
    """Plan a whole graph, within `planning_for(target)`; raises whatever torch raises where it cannot."""
    values: dict[int, Any] = {}
    lowerings: list[GraphLowering] = []
    run_node = GraphLowering.run_node

    def watch(lowering: GraphLowering, node: fx.Node) -> Any:
        value = run_node(lowering, node)
        index = (node.meta.get("custom") or {}).get(OP_INDEX)
        if index is not None and node.op == "call_function" and isinstance(value, ir.TensorBox):
            values[index] = value.data
            lowerings[:] = [lowering]
        return value

    with patch.object(GraphLowering, "run_node", watch):
        planned = plan(graph, target)
    if not lowerings:
        return planned, StoredValues({}, {})
    with V.set_graph_handler(lowerings[-1]):
        found = {index: _strides_of(value) for index, value in values.items()}
    strides: Strides = {}
    for index, stride in found.items():
        shape = graph.nodes[index].outputs[0].shape if len(graph.nodes[index].outputs) == 1 else ()
        if stride and len(stride) == len(shape):
            strides[OpRef(index)] = stride
    inlined = {index: stride is None for index, stride in found.items()}
    return planned, StoredValues(inlined, strides)


def _root(value: Any) -> Any:
    return value.unwrap_view() if isinstance(value, ir.BaseView) else value


def _strides_of(value: Any) -> tuple[int, ...] | None:
    """Return the strides of a value seen through views; None where it has no buffer; empty where no strides say it."""
    if not ir.is_storage_and_layout(_root(value)):
        return None
    try:
        if isinstance(value, ir.BaseView):
            layout = ir.ExternKernel.convert_to_reinterpret_view(value).get_layout()
        else:
            layout = ir.as_storage_and_layout(value, freeze=False)[1]
        return tuple(int(stride) for stride in layout.stride)
    except NotImplementedError:
        return ()
