"""Views by the records of their operands are those that torch makes, memory for memory."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from extract.model_tracing import trace_model
from extract.operands import operand_recipe
from extract.replay import replay
from extract.tracer import trace_module
from extract.views import facts_of, is_view, item_bytes, num_bytes, view_stride
from tests.extract.conftest import Program

SIZES = st.sampled_from([1, 1, 2, 3, 4, 6])


@st.composite
def strided_and_shape(draw: st.DrawFn) -> tuple[torch.Tensor, list[int]]:
    """A tensor, permuted, sliced or expanded, and a shape of as many elements."""
    shape = draw(st.lists(SIZES, max_size=4))
    tensor = torch.arange(max(math.prod(shape), 1)).reshape(shape)
    if shape:
        tensor = tensor.permute(draw(st.permutations(range(len(shape)))))
        tensor = tensor.narrow(0, 0, draw(st.integers(1, tensor.shape[0])))
        tensor = tensor.unsqueeze(1).expand(-1, draw(st.integers(1, 3)), *tensor.shape[1:])
    left, wanted = tensor.numel(), list[int]()
    while left > 1:
        size = draw(st.sampled_from([size for size in range(1, left + 1) if left % size == 0]))
        wanted.append(size)
        left //= size
        if len(wanted) > 5:
            break
    return tensor, [*wanted, left]


@given(strided_and_shape())
def test_strides_of_another_shape_are_those_that_torch_finds(given: tuple[torch.Tensor, list[int]]) -> None:
    tensor, wanted = given
    found = view_stride(tuple(tensor.shape), tensor.stride(), tuple(wanted))
    try:
        seen = tensor.view(wanted)
    except RuntimeError:
        assert found is None
        return
    assert found is not None
    assert torch.equal(torch.as_strided(tensor, wanted, found, tensor.storage_offset()), seen)


@pytest.mark.parametrize("model_id", ["timm/mixer_s32_224", "timm/swin_tiny_patch4_window7_224", "timm/test_convnext"])
def test_views_of_models_share_memory_and_others_do_not(model_id: str) -> None:
    # models without fused attention, whose kernels on the CPU lay out what they return in another way than on meta
    graph = trace_model(model_id).graph
    facts, wrong = facts_of(graph), list[int]()
    storages: dict[int, Any] = {}

    def execute(index: int, run: Callable[[], Any]) -> Any:
        returned = run()
        first = returned if isinstance(returned, torch.Tensor) else returned[0]
        storages[index] = first.untyped_storage().data_ptr(), first
        source = next(graph.nodes[index].refs(), None)
        if source is not None:
            of_tensor = type(source).__name__ == "TensorRef"
            memory = operands[source.index].untyped_storage().data_ptr() if of_tensor else storages[source.index][0]
            is_inplace = graph.nodes[index].op.endswith("_")
            if not is_inplace and (memory == storages[index][0]) != is_view(graph.nodes[index], facts):
                wrong.append(index)
        return returned

    operands = operand_recipe(graph, 0).make()
    replay(graph, operands, execute=execute)
    assert [(graph.nodes[index].op, graph.nodes[index].target) for index in wrong] == []


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (lambda m, x: x.reshape(-1), True),
        (lambda m, x: x.t().reshape(-1), False),
        (lambda m, x: x.t().contiguous(), False),
        (lambda m, x: x.float(), True),
        (lambda m, x: x.t().float(), True),
        (lambda m, x: x.half(), False),
        (lambda m, x: torch.nn.functional.dropout(x, training=False), True),
        (lambda m, x: torch.nn.functional.dropout(x), False),
        (lambda m, x: x[1:], True),
        (lambda m, x: x[[1, 0]], False),
        (lambda m, x: x + 1, False),
    ],
)
def test_calls_that_may_be_views_are_judged_by_layout_and_dtype(body: Any, expected: bool) -> None:
    graph = trace_module(Program(body).to("meta"), (torch.empty(4, 6, device="meta"),), subject="test").graph
    assert is_view(graph.nodes[-1], facts_of(graph)) is expected


def test_bytes_of_elements_are_torchs() -> None:
    for name in "float64 float32 float16 bfloat16 int64 int32 int16 int8 uint8 bool complex64 complex128".split():
        assert item_bytes(name) == getattr(torch, name).itemsize
    for name in ("float8_e4m3fn", "float8_e5m2", "uint16", "uint32", "uint64", "complex32"):
        assert item_bytes(name) == getattr(torch, name).itemsize
    with pytest.raises(ValueError, match="unknown size"):
        item_bytes("uint4")


def test_an_expanded_tensor_holds_each_element_once() -> None:
    graph = trace_module(
        Program(lambda m, x: x.expand(5, 4, 6) + 1).to("meta"), (torch.empty(4, 6, device="meta"),), subject="test"
    ).graph
    assert num_bytes(graph.nodes[0].outputs[0]) == 4 * 6 * 4
