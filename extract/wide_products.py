"""Products of float16 on a CPU: summed in float32 and rounded once, as a GPU does.

torch's own float16 kernels for a CPU do so too, at a thirtieth of float32's speed (measured on an EPYC without float16
instructions: a 3 x 3 convolution 2.1 Gflop/s beside 69, a batched product 3.2 beside 25; bfloat16 has instructions).
"""

from __future__ import annotations

from typing import Any, Final

import torch
from torch.overrides import TorchFunctionMode
from torch.utils._pytree import tree_map_only

_PRODUCTS: Final = frozenset(
    (
        "conv1d conv2d conv3d conv_transpose1d conv_transpose2d conv_transpose3d linear bilinear matmul __matmul__ "
        "__rmatmul__ mm bmm addmm baddbmm addbmm mv dot inner tensordot einsum scaled_dot_product_attention"
    ).split()
)


class WideProducts(TorchFunctionMode):
    """Computes the products that take float16 in float32, and gives their results back in float16."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if getattr(func, "__name__", "") not in _PRODUCTS or "out" in kwargs:
            return func(*args, **kwargs)
        dtypes: set[torch.dtype] = set()
        tree_map_only(torch.Tensor, lambda tensor: dtypes.add(tensor.dtype), (args, kwargs))
        if {dtype for dtype in dtypes if dtype.is_floating_point} != {torch.float16}:
            return func(*args, **kwargs)  # mixed ones raise, as they would
        args, kwargs = tree_map_only(torch.Tensor, _widen, (args, kwargs))
        return tree_map_only(torch.Tensor, _narrow, func(*args, **kwargs))


def _widen(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.float() if tensor.dtype is torch.float16 else tensor


def _narrow(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.half() if tensor.dtype is torch.float32 else tensor
