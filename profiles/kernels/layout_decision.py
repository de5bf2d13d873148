"""Whether Inductor optimises the layout of a prefix: its rule, computed from recorded shapes.

The rule and its constants are those of `GraphLowering.decide_layout_opt` for inference (torch 2.11 to 2.14): on a CPU
always where there is a convolution; on a GPU by the FLOP of four classes of convolutions, unless these are few among
many nodes.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from extract.canonical import bind
from extract.graph import Graph, Node, OpRef, TensorRef
from profiles.kernels.op_classes import is_convolution

_NODES_PER_CONVOLUTION = 300
_SLOWDOWN = {"grouped": 1.358, "default": 0.823, "in_out": 0.725, "small": 0.783}
_SMALL_CHANNELS = 64


def decide_by_flop(graph: Graph, target: str) -> list[bool]:
    """Return the decision by position, from 0; on a GPU by FLOP alone."""
    decisions, weighted, total = [False], 0.0, 0.0
    seen = False
    for node in graph.nodes:
        if is_convolution(node):
            seen = True
            kind, flop = _classify(graph, node)
            weighted += flop * _SLOWDOWN[kind]
            total += flop
        decisions.append(seen and (target == "cpu" or weighted <= total))
    return decisions


def spares_images(target: str) -> Callable[[int, int], bool]:
    """Return whether so many aten nodes (operands included) hold too few convolutions for a layout of their own."""

    def is_spared(num_nodes: int, num_convolutions: int) -> bool:
        return target != "cpu" and num_nodes + 1 >= _NODES_PER_CONVOLUTION * num_convolutions

    return is_spared


def _classify(graph: Graph, node: Node) -> tuple[str, float]:
    bound = dict(bind(node)[1])
    weight = _shape_of(graph, bound.get("weight"))
    if not weight or not node.outputs:
        return "default", 0.0
    is_transposed = "transpose" in node.op
    outer = node.outputs[0].shape if not is_transposed else _shape_of(graph, bound.get("input"))
    flop = 2.0 * outer[0] * math.prod(outer[2:]) * math.prod(weight)
    groups = bound.get("groups", 1)
    if isinstance(groups, int) and groups > 1 and weight[1] > 1:
        return "grouped", flop
    if weight[0] <= _SMALL_CHANNELS and weight[1] <= _SMALL_CHANNELS:
        return "small", flop
    return ("in_out" if weight[0] * 2 <= weight[1] and weight[2] > 1 else "default"), flop


def _shape_of(graph: Graph, ref: object) -> tuple[int, ...]:
    if isinstance(ref, TensorRef):
        return graph.tensors[ref.index].shape
    if isinstance(ref, OpRef):
        return next((made.shape for made in graph.nodes[ref.index].outputs if made.path == ref.path), ())
    return ()
