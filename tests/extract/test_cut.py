"""Cuts of real graphs: pieces run in order are the whole, and what a range may not do is refused with its reason."""

from __future__ import annotations

import random

import pytest
import torch

from extract.cut import CutError, Cutter, cut, cut_into
from extract.graph import Graph, Node, OpRef, OutputMeta, TensorMeta, TensorRef
from extract.hashing import graph_sha256
from extract.pieces import run_pieces
from extract.replay import replay
from extract.tracer import trace_module

X = TensorRef(0)


class Block(torch.nn.Module):
    """Views, in-place ops, tuples, item assignment and a residual edge that crosses many cuts."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = torch.nn.Conv2d(4, 8, 1)
        self.norm = torch.nn.BatchNorm2d(8)

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        y = self.norm(self.conv(x))
        left, right = y.chunk(2, dim=1)
        z = left.clone()
        z.add_(right)
        view = z.view(z.shape[0], -1)
        view[:, 0] = 1.0
        z.mul_(2)
        return torch.relu(z) + x, view.sum(1)


def block_graph() -> tuple[Graph, list[torch.Tensor]]:
    torch.manual_seed(0)
    model = Block().eval()
    x = torch.randn(2, 4, 3, 3)
    graph = trace_module(model, (x,), subject="block").graph
    named = dict(model.named_parameters()) | dict(model.named_buffers())
    return graph, [x if tensor.kind == "input" else named[tensor.original_name] for tensor in graph.tensors]


def test_every_two_piece_cut_equals_the_whole_bit_for_bit() -> None:
    graph, operands = block_graph()
    whole = replay(graph, [operand.clone() for operand in operands])
    for boundary in range(1, len(graph.nodes)):
        parts = run_pieces(graph, (boundary,), [operand.clone() for operand in operands])
        assert all(torch.equal(a, b) for a, b in zip(whole, parts, strict=True)), boundary


def test_random_cuts_into_many_pieces_equal_the_whole() -> None:
    graph, operands = block_graph()
    whole = replay(graph, [operand.clone() for operand in operands])
    draw = random.Random(1)
    for _ in range(30):
        boundaries = tuple(sorted(draw.sample(range(1, len(graph.nodes)), draw.randint(1, 5))))
        parts = run_pieces(graph, boundaries, [operand.clone() for operand in operands])
        assert all(torch.equal(a, b) for a, b in zip(whole, parts, strict=True)), boundaries


def test_inputs_are_by_first_use_and_outputs_by_definition() -> None:
    graph, _ = block_graph()
    piece = cut(graph, 0, 2)
    assert piece.operands[0] == X
    assert piece.results == Cutter(graph).live_results(0, 2)
    assert piece.graph.tensors[0].kind == "input"
    assert {tensor.original_name for tensor in piece.graph.tensors if tensor.kind == "parameter"} >= {"conv.weight"}


def test_a_value_from_before_the_range_becomes_an_input_with_its_shape() -> None:
    graph, _ = block_graph()
    piece = cut(graph, 1, 3)
    first = piece.graph.tensors[0]
    assert (first.kind, first.shape, first.dtype) == ("input", (2, 8, 3, 3), "float32")


def relu_chain(*targets: str) -> Graph:
    out = (OutputMeta((), (2, 3), (3, 1), "float32"),)
    nodes = tuple(
        Node(target.rpartition(".")[2], target, (OpRef(index - 1) if index else X,), (), out)
        for index, target in enumerate(targets)
    )
    tensor = TensorMeta("x", "input", "x", (2, 3), (3, 1), "float32")
    return Graph(nodes, (tensor,), (OpRef(len(nodes) - 1),))


def test_a_range_that_writes_outside_itself_is_refused() -> None:
    graph = relu_chain("torch.relu", "torch.relu_", "torch.neg")
    with pytest.raises(CutError) as refused:
        cut(graph, 1, 3)
    assert refused.value.reason == "mutates_boundary"
    cut(graph, 0, 2)
    assert len(cut_into(graph, (1,))) == 2


def test_a_write_through_a_view_of_an_outside_tensor_is_refused_too() -> None:
    graph = relu_chain("torch.relu", "torch.Tensor.T", "torch.relu_", "torch.neg")
    with pytest.raises(CutError, match="mutates_boundary"):
        cut(graph, 1, 4)
    cut(graph, 0, 4)


@pytest.mark.parametrize("start, end", [(0, 0), (2, 1), (0, 9), (-1, 2)])
def test_an_empty_or_outlying_range_is_refused(start: int, end: int) -> None:
    with pytest.raises(CutError, match="empty_range"):
        cut(relu_chain("torch.relu", "torch.neg"), start, end)


def test_a_range_whose_values_nobody_uses_is_refused() -> None:
    graph = relu_chain("torch.relu", "torch.neg")
    unused = Graph(graph.nodes, graph.tensors, (OpRef(0),))
    with pytest.raises(CutError, match="no_output"):
        cut(unused, 1, 2)


def test_the_same_ops_at_two_places_are_one_subgraph() -> None:
    graph = relu_chain("torch.relu", "torch.neg", "torch.relu", "torch.neg")
    assert graph_sha256(cut(graph, 0, 2).graph) == graph_sha256(cut(graph, 2, 4).graph)
