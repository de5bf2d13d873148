"""A foreign graph with autocast regions to the graph of a trace, whose casts are explicit.

Producers leave the two calls that open and close a region in the program; a trace of ours has casts in their place
(`extract.autocast`). The program is run once on fake tensors under our tracer, region by region.
"""

from __future__ import annotations

from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensorMode

from extract.arguments import decode
from extract.graph import Graph, Node, Ref, TensorRef
from extract.replay import run_node
from extract.tracer import trace_module

ENTER, EXIT = (f"torch.amp.autocast_mode.{name}" for name in ("_enter_autocast", "_exit_autocast"))


def has_autocast(graph: Graph) -> bool:
    """Tell whether a graph has autocast regions."""
    return any(node.target == ENTER for node in graph.nodes)


def with_explicit_casts(graph: Graph) -> Graph | None:
    """Return the graph that a trace gives, over the same operands; None where regions are not all of the CPU.

    What torch does in a region depends on the device, and only the CPU's is at hand everywhere. Raises
    `extract.failure.SubjectError` where a call cannot be run or recorded.
    """
    if any(node.target == ENTER and node.args[:1] != ("cpu",) for node in graph.nodes):
        return None
    with FakeTensorMode():
        operands = [
            torch.empty_strided(meta.shape, meta.stride, dtype=getattr(torch, meta.dtype)) for meta in graph.tensors
        ]
    traced = trace_module(_Program(graph), tuple(operands), subject="autocast").graph
    return Graph(traced.nodes, graph.tensors, traced.outputs)


class _Program(torch.nn.Module):
    """Runs a graph's nodes one by one, through the allowlist."""

    def __init__(self, graph: Graph) -> None:
        super().__init__()
        self._graph = graph

    def forward(self, *operands: torch.Tensor) -> tuple[Any, ...]:
        """Return what the graph returns for its operands; regions left open are closed."""
        values: list[Any] = []
        regions: list[Any] = []

        def lookup(ref: Ref) -> Any:
            if isinstance(ref, TensorRef):
                return operands[ref.index]
            value = values[ref.index]
            for step in ref.path:
                value = value[step]
            return value

        try:
            for node in self._graph.nodes:
                values.append(_run(node, lookup, regions))
            return tuple([lookup(ref) for ref in self._graph.outputs])
        finally:
            while regions:
                regions.pop().__exit__(None, None, None)


def _run(node: Node, lookup: Any, regions: list[Any]) -> Any:
    if node.target == ENTER:
        device, dtype, enabled = [decode(arg, lookup) for arg in node.args[:3]]
        regions.append(torch.autocast(device, dtype=dtype, enabled=bool(enabled), cache_enabled=False))
        regions[-1].__enter__()
        return None
    if node.target == EXIT:
        regions.pop().__exit__(None, None, None)
        return None
    return run_node(node, lookup, None)
