"""Costs of cuts: bytes by hand, FLOP as torch counts products, and the same whether a cut stands alone or not."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch.utils.flop_counter import FlopCounterMode

from extract.cut import CutError, Cutter
from extract.graph import Graph, Node, OpRef, OutputMeta, TensorMeta, TensorRef
from extract.model_tracing import trace_model
from extract.operands import operand_recipe
from extract.replay import replay
from extract.tracer import trace_module
from profiles.cost import Cost, CutCosts, cut_cost
from tests.extract.conftest import Program

X = torch.empty(10, 20)  # 800 bytes
ROW = torch.empty(20)  # 80 bytes
IDS = torch.empty(3, dtype=torch.int64)  # 24 bytes


def traced(body: Any, *inputs: torch.Tensor) -> Graph:
    return trace_module(Program(body).to("meta"), tuple(x.to("meta") for x in inputs), subject="test").graph  # pyright: ignore


def cost_of(body: Any, *inputs: torch.Tensor) -> Cost:
    return cut_cost(traced(body, *inputs))


@pytest.mark.parametrize(
    ("body", "inputs", "num_bytes"),
    [
        (lambda m, x: torch.relu(x), (X,), 1600),
        (lambda m, x: torch.relu(x).neg().exp(), (X,), 1600),  # what stays inside moves nothing
        (lambda m, x, y: x + y, (X, ROW), 1680),
        (lambda m, x: x + x, (X,), 1600),  # read once
        (lambda m, x: x.view(20, 10), (X,), 0),  # a view of an operand
        (lambda m, x: torch.relu(x.t()), (X,), 1600),
        (lambda m, x: torch.relu(x).t(), (X,), 1600),
        (lambda m, x: torch.relu(x[:3]), (X,), 480),  # three rows are read
        (lambda m, x: torch.relu(x.chunk(2)[0]), (X,), 800),
        (lambda m, x: x.chunk(2)[0] + x.chunk(2)[1], (X,), 1200),
        (lambda m, x: torch.relu(x)[:3], (X,), 1040),  # three rows are written
        (lambda m, x: (x[1:] + x[:-1], x), (X,), 800 + 720),  # views that overlap: no more than the whole
        (lambda m, x: torch.relu(x).chunk(2), (X,), 1600),
        (lambda m, x: torch.relu(x).add_(1), (X,), 1600),
        (lambda m, x, y: torch.relu(y.expand(10, 20)), (X, ROW), 880),  # an expanded operand is read once
        (lambda m, x: torch.zeros_like(x), (X,), 800),  # nothing is read
        (lambda m, x, y: torch.relu(y.expand_as(x)), (X, ROW), 880),
        (lambda m, x, i: F.embedding(i, x), (X, IDS), 24 + 240 + 240),  # three rows of the table
        (lambda m, x, i: x[i], (X, IDS), 24 + 240 + 240),
        (lambda m, x, i: x.index_select(0, i), (X, IDS), 24 + 240 + 240),
        (lambda m, x: x.contiguous(), (X,), 0),
        (lambda m, x: x.t().contiguous(), (X,), 1600),
        (lambda m, x: x.half(), (X,), 1200),
        (lambda m, x: F.dropout(x, training=False), (X,), 0),
        (lambda m, x: x.max(dim=1), (X,), 800 + 40 + 80),
    ],
)
def test_bytes_are_operands_read_once_and_results_written_once(
    body: Any, inputs: tuple[torch.Tensor, ...], num_bytes: int
) -> None:
    assert cost_of(body, *inputs).num_bytes == num_bytes


@pytest.mark.parametrize(
    ("body", "inputs", "num_flop"),
    [
        (lambda m, x: torch.relu(x).exp(), (X,), 400),
        (lambda m, x: x.t().contiguous().half(), (X,), 0),
        (lambda m, x: x.sum(1), (X,), 200),
        (lambda m, x: x.softmax(-1), (X,), 1000),
        (lambda m, x, y: F.layer_norm(x, (20,), y), (X, ROW), 1400),
        (lambda m, x: F.avg_pool1d(x, 2), (X,), 200),
        (lambda m, x: F.interpolate(x[None, None], scale_factor=2), (X,), 0),
        (lambda m, x: F.interpolate(x[None, None], scale_factor=2, mode="bilinear"), (X,), 6 * 800),
        (lambda m, x: x @ x.t(), (X,), 2 * 10 * 10 * 20),
        (lambda m, x: torch.relu(x).add_(1), (X,), 400),
        (lambda m, x: torch.maximum(x, x), (X,), 200),
        (lambda m, x: x.max(), (X,), 200),
        (lambda m, x: x.topk(3), (X,), None),
        (lambda m, x: torch.relu(x).sort(), (X,), None),
        (lambda m, x: torch.fft.fft(x), (X,), None),
    ],
)
def test_flop_are_counted_by_what_a_call_reads_or_returns(
    body: Any, inputs: tuple[torch.Tensor, ...], num_flop: float | None
) -> None:
    assert cost_of(body, *inputs).num_flop == num_flop


@pytest.mark.parametrize("name", ["resnet18", "test_convnext", "mixer_s32_224"])
def test_flop_of_a_model_are_those_of_torchs_counter_and_a_little_for_the_other_calls(name: str) -> None:
    graph = trace_model(f"timm/{name}").graph
    with FlopCounterMode(display=False) as counter:
        replay(graph, operand_recipe(graph, 0).make())
    num_flop = cut_cost(graph).num_flop
    assert num_flop is not None
    assert counter.get_total_flops() < num_flop < 1.35 * counter.get_total_flops()


@pytest.mark.parametrize("name", ["test_vit", "swin_tiny_patch4_window7_224", "test_efficientnet"])
def test_a_cut_costs_the_same_within_its_graph_and_alone_and_never_more_than_its_borders(name: str) -> None:
    graph = trace_model(f"timm/{name}").graph
    cutter, costs = Cutter(graph), CutCosts(graph)
    num_cuts = 0
    for start in range(0, len(graph.nodes) - 9, 3):
        try:
            piece = cutter.cut(start, start + 9)
        except CutError:
            continue
        num_cuts += 1
        alone = cut_cost(piece.graph)
        assert costs.cost(start, start + 9, cutter.outline(start, start + 9)) == alone
        elements = sum(torch.Size(meta.shape).numel() for meta in piece.graph.tensors)
        made = (output for ref in piece.graph.outputs for output in piece.graph.nodes[ref.index].outputs)
        elements += sum(torch.Size(output.shape).numel() for output in made)
        assert alone.num_bytes is not None and 0 <= alone.num_bytes <= 8 * elements
    assert num_cuts > 10


def test_half_the_bytes_in_half_precision_and_twice_the_intensity() -> None:
    whole, half = cost_of(lambda m, x: x @ x.t(), X), cost_of(lambda m, x: x @ x.t(), X.half())
    assert whole.num_bytes == 1200 and half.num_bytes == 600
    assert whole.arithmetic_intensity == 4000 / 1200
    assert half.arithmetic_intensity == 4000 / 600


def test_what_is_unknown_is_none() -> None:
    meta = OutputMeta((), (4,), (1,), "float32")
    x = TensorMeta("x", "input", "x", (4,), (1,), "float32")
    custom = Node("ns.op", "torch.ops.ns.op", (TensorRef(0),), (), (meta,))
    cost = cut_cost(Graph((custom,), (x,), (OpRef(0),)))
    assert (cost.num_bytes, cost.num_flop, cost.arithmetic_intensity) == (32, None, None)
    unrecorded = Graph((Node("relu", "torch.relu", (TensorRef(0),)),), (x,), (OpRef(0),))
    assert cut_cost(unrecorded).num_bytes is None
    assert cost_of(lambda m, x: x.t(), X).arithmetic_intensity is None  # nothing is moved
