"""A graph whose model is set aside, at other sizes, against a trace of the model there."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from extract.graph import Graph, Node, OpRef, OutputMeta, TensorMeta, TensorRef, contiguous_stride
from extract.hashing import signature_sha256
from extract.model_tracing import trace_prepared
from extract.repropagation import RepropagationError, repropagate
from extract.size_literals import size_literals, with_sizes
from extract.sources import Preparation, prepare
from extract.symbolic import name_axes, resize
from extract.tracer import trace_module
from extract.view_sizes import new_size, view_ways


def trace(module: torch.nn.Module, *shape: int, dtype: torch.dtype = torch.float32) -> Graph:
    return trace_module(module, (torch.empty(shape, device="meta", dtype=dtype),), subject="test").graph


@pytest.fixture(scope="module")
def resnet() -> torch.nn.Module:
    return prepare("timm/resnet18").module


@pytest.fixture(scope="module")
def vit() -> torch.nn.Module:
    return prepare("timm/vit_tiny_patch16_224").module


@pytest.mark.parametrize("sizes", [(2, 224, 224), (4, 224, 224), (1, 448, 448), (3, 320, 160), (2, 225, 301)])
def test_a_convolutional_net_is_what_a_trace_gives(resnet: torch.nn.Module, sizes: tuple[int, int, int]) -> None:
    batch, height, width = sizes
    found = resize(trace(resnet, 1, 3, 224, 224), {"batch": batch, "height": height, "width": width})
    assert signature_sha256(found) == signature_sha256(trace(resnet, batch, 3, height, width))


@pytest.mark.parametrize("batch", [2, 4, 7])
def test_views_and_expanded_tokens_follow_the_batch(vit: torch.nn.Module, batch: int) -> None:
    found = resize(trace(vit, 1, 3, 224, 224), {"batch": batch})
    assert signature_sha256(found) == signature_sha256(trace(vit, batch, 3, 224, 224))
    back = resize(found, {"batch": 1})
    assert signature_sha256(back) == signature_sha256(trace(vit, 1, 3, 224, 224))


def test_a_size_that_the_model_refuses_is_refused(vit: torch.nn.Module) -> None:
    with pytest.raises(RepropagationError, match="197"):
        resize(trace(vit, 1, 3, 224, 224), {"height": 448, "width": 448})


def test_a_dtype_follows_where_the_program_names_none(resnet: torch.nn.Module) -> None:
    found = resize(trace(resnet, 1, 3, 224, 224), {"batch": 2}, "bfloat16")
    module = prepare("timm/resnet18").module.to(torch.bfloat16)
    assert signature_sha256(found) == signature_sha256(trace(module, 2, 3, 224, 224, dtype=torch.bfloat16))


@pytest.mark.parametrize("batch", [2, 4])
def test_a_text_model_is_what_a_trace_gives(batch: int) -> None:
    base, expected = (
        trace_prepared(prepare("transformers/bert", Preparation(batch_size=size))).graph for size in (1, batch)
    )
    assert signature_sha256(resize(base, {"batch": batch})) == signature_sha256(expected)


class Windows(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        batch, height, width, channels = x.shape
        windows = x.view(batch, height // 7, 7, width // 7, 7, channels).permute(0, 1, 3, 2, 4, 5)
        windows = windows.reshape(-1, 49, channels)
        back = windows.view(batch, height // 7, width // 7, 7, 7, channels).permute(0, 1, 3, 2, 4, 5)
        return back.reshape(batch, height * width, channels)


def image_graph(module: torch.nn.Module, batch: int, height: int, width: int) -> Graph:
    return trace(module, batch, height, width, 16)


def resized_images(graph: Graph, batch: int, height: int, width: int) -> Graph:
    shape = (batch, height, width, 16)
    tensors = [replace(meta, shape=shape, stride=contiguous_stride(shape)) for meta in graph.tensors]
    return repropagate(graph, tensors)


@pytest.mark.parametrize("sizes", [(1, 112, 112), (2, 56, 112), (3, 84, 28)])
def test_windows_are_more_and_not_larger(sizes: tuple[int, int, int]) -> None:
    module = Windows()
    found = resized_images(image_graph(module, 1, 56, 56), *sizes)
    assert signature_sha256(found) == signature_sha256(image_graph(module, *sizes))


class Padded(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.nn.functional.pad(x, (0, 0, 0, -x.shape[2] % 7, 0, -x.shape[1] % 7))


class Scaled(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * (torch.arange(x.shape[1], device=x.device).view(-1, 1, 1) / (x.shape[1] - 1))


class States(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + torch.zeros(x.shape[0], 1, 1, 16, device=x.device)


@pytest.mark.parametrize(
    ("module", "reason"),
    [(Padded(), "padding"), (Scaled(), "55 may follow"), (States(), "more than one size")],
)
def test_what_the_record_does_not_tell_is_refused(module: torch.nn.Module, reason: str) -> None:
    with pytest.raises(RepropagationError, match=reason):
        resized_images(image_graph(module, 1, 56, 56), 2, 112, 56)


def test_a_shape_that_depends_on_values_is_refused() -> None:
    x = TensorMeta("x", "input", "x", (1, 4), (4, 1), "float32")
    node = Node("nonzero", "torch.Tensor.nonzero", (TensorRef(0),), (), (OutputMeta((), (4, 2), (2, 1), "int64"),))
    with pytest.raises(RepropagationError, match="nonzero"):
        resize(Graph((node,), (x,), (OpRef(0),)), {"batch": 2})


def test_an_axis_that_no_input_has_is_named(resnet: torch.nn.Module) -> None:
    with pytest.raises(ValueError, match="sequence"):
        resize(trace(resnet, 1, 3, 224, 224), {"sequence": 3})


@pytest.mark.parametrize(
    ("inputs", "names"),
    [
        ([("float32", (2, 3, 224, 192))], [("batch", None, "height", "width")]),
        ([("float32", (1, 16, 3, 224, 224))], [("batch", "frames", None, "height", "width")]),
        ([("float32", (1, 3, 16, 224, 224))], [("batch", None, "frames", "height", "width")]),
        ([("float32", (1, 16000))], [("batch", "samples")]),
        (
            [("int64", (2, 16)), ("bool", (2, 1, 16, 16))],
            [("batch", "sequence"), ("batch", None, "sequence", "sequence")],
        ),
        ([("int64", (2, 16)), ("int64", (2, 24))], [("batch", "sequence"), ("batch", None)]),
    ],
)
def test_axes_are_named_by_position(
    inputs: list[tuple[str, tuple[int, ...]]], names: list[tuple[str | None, ...]]
) -> None:
    tensors = [
        TensorMeta(f"x{index}", "input", "", shape, contiguous_stride(shape), dtype)
        for index, (dtype, shape) in enumerate(inputs)
    ]
    assert list(name_axes(Graph((), tuple(tensors), ())).names.values()) == names


def test_sizes_of_a_call_are_found_and_replaced_where_they_stand() -> None:
    node = Node("view", "torch.Tensor.view", (TensorRef(0), 1, 197, 12, -1))
    found = size_literals(node)
    assert [(literal.path, literal.value) for literal in found] == [((1,), 1), ((2,), 197), ((3,), 12), ((4,), -1)]
    assert with_sizes(node, {(1,): 4}).args == (TensorRef(0), 4, 197, 12, -1)
    assert size_literals(Node("permute", "torch.Tensor.permute", (TensorRef(0), 0, 2, 1))) == []


@pytest.mark.parametrize(
    ("operand", "targets", "sizes"),
    [
        ([(1, 4), (197, 197), (768, 768)], (1, 197, 12, 64), (4, 197, 12, 64)),
        ([(1, 4), (197, 197), (768, 768)], (197, 768), (788, 768)),
        ([(197, 197), (1, 4), (768, 768)], (197, 12, 64), (197, 48, 64)),
        ([(1, 4), (14, 28), (14, 28), (9, 9)], (196, 9), (3136, 9)),
        ([(56, 112), (9, 9)], (8, 7, 9), (16, 7, 9)),
        ([(2, 6), (5, 5)], (1, 2, 5), (1, 6, 5)),
    ],
)
def test_the_likely_way_of_a_view(
    operand: list[tuple[int, int]], targets: tuple[int, ...], sizes: tuple[int, ...]
) -> None:
    ways = view_ways([(atom,) for atom in operand], targets, lambda old: ())
    assert tuple(map(new_size, ways[0])) == sizes
