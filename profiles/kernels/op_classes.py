"""Ops by what planning makes of them."""

from __future__ import annotations

from extract.cut import PURE_VIEW_OPS, VIEW_OPS
from extract.graph import Node

EXTERN_OPS = frozenset(
    "conv1d conv2d conv3d conv_transpose1d conv_transpose2d conv_transpose3d linear bilinear matmul mm bmm addmm "
    "baddbmm scaled_dot_product_attention einsum".split()
)
"""Ops that Inductor calls a library for, so that nothing fuses through them."""


def is_convolution(node: Node) -> bool:
    """Tell whether a layout decision is about this op."""
    return node.op.startswith("conv")


def is_view(node: Node, for_certain: bool = False) -> bool:
    """Tell whether what an op returns may share its first operand's memory; `for_certain`: must. Indexing by tensors
    copies."""
    ops = PURE_VIEW_OPS if for_certain else VIEW_OPS
    return node.op in ops and not (node.op == "getitem" and len(set(node.refs())) > 1)
