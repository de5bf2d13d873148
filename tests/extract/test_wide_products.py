"""Products of float16: those of float32, rounded once; all else is torch's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch.nn import functional as F

from extract.wide_products import WideProducts

Program = Callable[..., torch.Tensor]
PRODUCTS: dict[str, tuple[Program, list[tuple[int, ...]]]] = {
    "conv2d": (lambda x, w: F.conv2d(x, w, padding=1), [(2, 3, 9, 9), (4, 3, 3, 3)]),
    "conv_transpose1d": (F.conv_transpose1d, [(2, 3, 9), (3, 4, 3)]),
    "linear": (F.linear, [(5, 7), (3, 7), (3,)]),
    "matmul": (torch.Tensor.matmul, [(2, 5, 7), (7, 3)]),
    "@": (lambda x, y: x @ y, [(2, 5, 7), (2, 7, 3)]),
    "baddbmm": (torch.baddbmm, [(2, 5, 3), (2, 5, 7), (2, 7, 3)]),
    "einsum": (lambda x, y: torch.einsum("bij,bkj->bik", x, y), [(2, 5, 7), (2, 4, 7)]),
    "attention": (F.scaled_dot_product_attention, [(1, 2, 5, 8)] * 3),
}


def drawn(shapes: list[tuple[int, ...]]) -> list[torch.Tensor]:
    torch.manual_seed(0)
    return [torch.randn(shape).half() for shape in shapes]


@pytest.mark.parametrize("name", PRODUCTS)
def test_a_product_is_float32s_rounded_once(name: str) -> None:
    program, shapes = PRODUCTS[name]
    operands = drawn(shapes)
    with WideProducts():
        found = program(*operands)
    assert found.dtype == torch.float16
    assert torch.equal(found, program(*[operand.float() for operand in operands]).half())
    torch.testing.assert_close(found, program(*operands), rtol=1e-2, atol=1e-2)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_other_dtypes_and_other_ops_are_torchs_own(dtype: torch.dtype) -> None:
    x, w = (operand.to(dtype) for operand in drawn([(5, 7), (3, 7)]))
    half = x.half()
    calls: list[Callable[[], Any]] = [
        lambda: F.linear(x, w),
        lambda: F.gelu(half),
        lambda: half.softmax(-1),
        lambda: torch.mm(half, w.half().mT, out=torch.empty(5, 3, dtype=torch.float16)),
    ]
    for call in calls:
        with WideProducts():
            found = call()
        assert torch.equal(found, call()) and found.dtype == call().dtype


def test_products_of_mixed_types_raise_as_they_would() -> None:
    x, weight, bias = torch.ones(1, 2, 5), torch.ones(3, 2, 1), torch.ones(3)
    with WideProducts(), pytest.raises(RuntimeError, match="should be the same"):
        torch.conv1d(x, weight, bias.half())
