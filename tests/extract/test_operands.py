"""Operands made from records: values, strides and ranges as stored, indices legal, activations of order 1."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
import torch
import torchvision.ops

from extract.cut import Cutter
from extract.graph import Graph, Node, OpRef, OutputMeta, TensorMeta, TensorRef
from extract.index_ranges import index_ranges
from extract.model_tracing import trace_model
from extract.operands import calibrate, operand_recipe
from extract.replay import replay
from extract.tracer import trace_module
from tests.extract.conftest import Program


def operand(**fields: Any) -> torch.Tensor:
    meta = TensorMeta(**{"name": "t", "kind": "constant", "original_name": "t", **fields})
    return operand_recipe(Graph((), (meta,), ()), seed=1).make()[0]


def graph_of(body: Callable[..., object], *inputs: torch.Tensor) -> Graph:
    module = Program(body).to("meta")
    return trace_module(module, tuple(value.to("meta") for value in inputs), subject="test").graph


def test_stored_values_and_strides_come_back() -> None:
    made = operand(shape=(2, 3), stride=(1, 2), dtype="float32", values=(1.0, 2.0, 3.0, 4.0, 5.0, 6.0))
    assert made.stride() == (1, 2)
    assert made.tolist() == [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]
    expanded = operand(shape=(3, 2), stride=(0, 1), dtype="int64", values=(7, 8, 7, 8, 7, 8))
    assert (expanded.stride(), expanded.tolist()) == ((0, 1), [[7, 8]] * 3)


def test_drawn_tensors_follow_their_statistics_strides_and_seed() -> None:
    fields = {
        "shape": (64, 65),
        "stride": (1, 64),
        "dtype": "bfloat16",
        "mean": 3.0,
        "std": 0.5,
        "min": 2.0,
        "max": 4.0,
    }
    made = operand(**fields)
    assert (made.stride(), made.dtype) == ((1, 64), torch.bfloat16)
    assert made.float().mean() == pytest.approx(3.0, abs=0.05)
    assert float(made.min()) >= 2.0 and float(made.max()) <= 4.0
    assert torch.equal(made, operand(**fields))
    assert operand(shape=(70, 2), stride=(0, 1), dtype="float32").stride() == (0, 1)
    assert operand(shape=(0, 5), stride=(5, 1), dtype="float32").shape == (0, 5)


def test_a_variance_is_positive_and_a_stat_that_is_not_finite_gives_way_to_the_role() -> None:
    made = operand(
        kind="buffer", original_name="bn.running_var", shape=(99,), stride=(1,), dtype="float32", mean=0.0, std=1.0
    )
    assert float(made.min()) > 0
    unknown = operand(shape=(99,), stride=(1,), dtype="float32", mean=float("nan"), std=float("inf"))
    assert bool(unknown.isfinite().all())


def test_bools_are_true_and_integers_small() -> None:
    assert bool(operand(shape=(70,), stride=(1,), dtype="bool").all())
    assert set(operand(shape=(99,), stride=(1,), dtype="int64").tolist()) == {0, 1}
    assert set(operand(original_name="attention_mask", shape=(99,), stride=(1,), dtype="int64").tolist()) == {1}
    assert int(operand(shape=(99,), stride=(1,), dtype="int32", min=5.0, max=9.0).max()) in range(8, 10)


INDEXING: list[tuple[Callable[..., Any], int]] = [
    (lambda m, i, w: torch.nn.functional.embedding(i.view(-1), w), 10),
    (lambda m, i, w: w[i], 10),
    (lambda m, i, w: w[:, i], 6),
    (lambda m, i, w: w[..., i], 6),
    (lambda m, i, w: w[None, i + 2], 8),
    (lambda m, i, w: w[9 - i], 10),
    (lambda m, i, w: w[torch.cat([i, i.flip(0)]).reshape(2, -1).long() * 2], 5),
    (lambda m, i, w: torch.index_select(w, 1, i), 6),
    (lambda m, i, w: torch.gather(w, -1, i.view(1, -1).expand(10, -1)), 6),
    (lambda m, i, w: torch.nn.functional.one_hot(i, 7), 7),
    (lambda m, i, w: w.scatter(1, i.view(1, -1), 1.0), 6),
    (lambda m, i, w: w[i] + w[i[:, None] - i].sum(0), 1),  # widths of boxes: only equal ends are never negative
    (lambda m, i, w: w[i[:, None] - i + 4], 5),  # positions relative to each other
    (lambda m, i, w: w[2 * i[:, None] - i * 2 + 5], 3),
    (lambda m, i, w: w.index_put((i[:, None], i), w[:6] * 2), 6),
    (lambda m, i, w: w.index_put_((i,), torch.zeros(6)), 10),
]


@pytest.mark.parametrize(("body", "num_legal"), INDEXING)
def test_indices_stay_legal_and_use_the_whole_range(body: Callable[..., Any], num_legal: int) -> None:
    graph = graph_of(body, torch.zeros(6, dtype=torch.int64), torch.zeros(10, 6))
    ((position, found),) = index_ranges(graph).items()
    assert graph.tensors[position].original_name == "x"
    assert (found.low, found.high) == (0, num_legal - 1)
    for seed in range(5):
        replay(graph, operand_recipe(graph, seed).make())


def call(target: str, op: str, args: tuple[Any, ...], tensors: dict[str, tuple[int, ...]], **kwargs: Any) -> Graph:
    """One call on tensors of these shapes; of integers where a name says so, of bools where one says mask."""
    dtypes = {"x": "float32", "i": "int64", "m": "bool"}
    table = [
        TensorMeta(name, "input", name, shape, torch.empty(shape).stride(), dtypes[name[0]])
        for name, shape in tensors.items()
    ]
    return Graph((Node(op, target, args, tuple(kwargs.items())),), tuple(table), (OpRef(0),))


X, Y, Z = TensorRef(0), TensorRef(1), TensorRef(2)


@pytest.mark.parametrize(
    ("graph", "value"),
    [
        (call("torch.Tensor.view", "view", (X, 4, Y, 3), {"x": (24,), "i": ()}), 2),
        (call("torch.Tensor.reshape", "reshape", (X, (Y, 8)), {"x": (2, 12), "i": ()}), 3),
        (call("torch.repeat_interleave", "repeat_interleave", (X, Y), {"x": (3,), "i": (3,)}, output_size=12), 4),
        (call("torch.repeat_interleave", "repeat_interleave", (X, Y), {"x": (3,), "i": ()}, output_size=6), 2),
        (
            call(
                "torch.Tensor.masked_scatter",
                "masked_scatter",
                (X, Y, TensorRef(2)),
                {"x": (3, 4), "m": (4,), "x2": (5,)},
            ),
            0,
        ),
    ],
)
def test_sizes_have_the_one_value_with_which_the_call_runs(graph: Graph, value: int) -> None:
    made = operand_recipe(graph, 3).make()
    assert set(made[1].reshape(-1).tolist()) == {value}
    replay(graph, made)


def test_a_recorded_size_is_what_the_call_returned() -> None:
    expand = call("torch.Tensor.expand", "expand", (X, Y, -1), {"x": (1, 4), "i": ()})
    node = replace(expand.nodes[0], outputs=(OutputMeta((), (3, 4), (0, 1), "float32"),))
    made = operand_recipe(replace(expand, nodes=(node,)), 3).make()
    assert int(made[1]) == 3
    assert replay(expand, made)[0].shape == (3, 4)


def test_regions_of_interest_lie_in_images_that_are_there() -> None:
    def body(m, x, boxes):
        return torchvision.ops.roi_align(x, boxes * 1, 2)

    whole = graph_of(body, torch.zeros(3, 2, 8, 8), torch.zeros(40, 5))
    graph = Cutter(whole).cut(1, 2).graph
    assert graph.op_names == ("torchvision.roi_align",)
    images, regions = operand_recipe(graph, 3).make()
    assert (regions.dtype, set(regions[:, 0].tolist())) == (torch.float32, {0.0, 1.0, 2.0})
    outputs = [replay(graph, [images, regions])[0] for _ in range(3)]
    assert torch.equal(outputs[0], outputs[1]) and torch.equal(outputs[1], outputs[2])


def test_a_mask_that_hides_what_it_marks_hides_nothing() -> None:
    inputs = torch.ones(2, 70), torch.ones(70).bool()
    hiding = graph_of(lambda m, x, mask: x.masked_fill(mask[None], float("-inf")), *inputs)
    assert not operand_recipe(hiding, 0).make()[1].any()
    keeping = graph_of(lambda m, x, mask: x.masked_fill(~mask.unsqueeze(0), float("-inf")), *inputs)
    assert operand_recipe(keeping, 0).make()[1].all()


def activation_sizes(graph: Graph, operands: list[torch.Tensor]) -> list[float]:
    """Root mean squares of what ops return."""
    sizes: list[float] = []

    def watch(index: int, run: Callable[[], Any]) -> Any:
        returned = run()
        if isinstance(returned, torch.Tensor) and returned.is_floating_point():
            sizes.append(float(returned.float().square().mean().sqrt()))
        return returned

    replay(graph, operands, execute=watch)
    return sizes


@pytest.mark.parametrize("name", ["test_nfnet", "mobilenetv3_small_050", "test_vit", "resnet18"])
def test_activations_neither_vanish_nor_explode(name: str) -> None:
    graph = trace_model(f"timm/{name}").graph
    sizes = activation_sizes(graph, calibrate(operand_recipe(graph, 0)).make())
    assert min(sizes) > 1e-3 and max(sizes) < 1e3, (min(sizes), max(sizes))


def test_without_calibration_a_deep_net_fades() -> None:
    graph = trace_model("timm/mobilenetv3_small_050").graph
    recipe = operand_recipe(graph, 0)
    before, after = (activation_sizes(graph, made.make())[-1] for made in (recipe, calibrate(recipe)))
    assert before < 0.01 < 0.1 < after < 10
