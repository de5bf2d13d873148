"""Ops by what planning makes of them."""

from __future__ import annotations

from extract.graph import Node

EXTERN_OPS = frozenset(
    "conv1d conv2d conv3d conv_transpose1d conv_transpose2d conv_transpose3d linear bilinear matmul mm bmm addmm "
    "baddbmm scaled_dot_product_attention einsum".split()
)
"""Ops that Inductor calls a library for, so that nothing fuses through them."""


def is_convolution(node: Node) -> bool:
    """Tell whether a layout decision is about this op."""
    return node.op.startswith("conv")
