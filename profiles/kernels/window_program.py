"""A window of a graph as a program of its own, whose operands lie in memory as they do within the whole plan."""

from __future__ import annotations

from extract.cut import Cutter
from extract.graph import Graph, OpRef
from profiles.kernels.windows import Window, WindowKeys


def cut_window(cutter: Cutter, keys: WindowKeys, window: Window) -> tuple[Graph, tuple[tuple[int, ...], ...]]:
    """Return the program of a window, and the strides that its operands have within the whole plan.

    Raises `extract.cut.CutError` for a value without a record.
    """
    piece = cutter.cut_ops(window.ops, window.end)
    strides = tuple(
        keys.stride_of(ref, window) if isinstance(ref, OpRef) else meta.stride
        for ref, meta in zip(piece.operands, piece.graph.tensors, strict=True)
    )
    return piece.graph, strides
