"""Instances of real models run: finite outputs, the same for one seed, and three dtypes that agree."""

from __future__ import annotations

import math
import random
from dataclasses import replace
from typing import Any

import pytest
import torch

from extract.cut import CutError, Cutter
from extract.formed_cut import FormedCutter
from extract.graph import Graph
from extract.shape_configs import DTYPES
from extract.tracer import trace_module
from mining.instance import Variant, make_instance, render
from profiles.instance_run import (
    MAX_DISAGREEMENT,
    disagreement,
    float32_twin,
    instance_recipe,
    make_operands,
    run_in_dtypes,
    run_instance,
)
from tests.extract.conftest import Program
from tests.mining.traced_variants import traced


def rendered(
    model_id: str, batch_size: int, num_cuts: int, seed: int, image_size: int | None = None
) -> list[dict[str, Graph]]:
    """Random cuts of a model as instances, each in three dtypes."""
    draw, base = random.Random(seed), traced(model_id)
    variants = {dtype: traced(model_id, batch_size, image_size, dtype) for dtype in DTYPES}
    found: list[dict[str, Graph]] = []
    while len(found) < num_cuts:
        num_ops = draw.randint(4, min(20, len(base.nodes)))
        start = draw.randint(0, len(base.nodes) - num_ops)
        end = start + num_ops
        try:
            cut, formed = Cutter(base).cut(start, end).graph, FormedCutter(base).cut(start, end)
        except CutError:
            continue
        recipes = {
            dtype: make_instance(
                formed, FormedCutter(graph).cut(start, end), Variant(model_id, "", 1, dtype, {"batch": batch_size})
            )
            for dtype, graph in variants.items()
        }
        found.append({dtype: render(cut, recipe) for dtype, recipe in recipes.items()})
    return found


@pytest.mark.parametrize(
    ("model_id", "image_size"),
    [
        ("timm/test_vit", None),
        ("timm/test_convnext", 64),
        pytest.param("timm/test_resnet", 64, marks=pytest.mark.slow),
        pytest.param("transformers/bert/base", None, marks=pytest.mark.slow),
    ],
)
def test_instances_run_finite_and_their_dtypes_agree(model_id: str, image_size: int | None) -> None:
    for seed, graphs in enumerate(rendered(model_id, 2, 4, 1, image_size)):
        recipe = instance_recipe(graphs["float32"], seed)
        outputs = run_in_dtypes(graphs, seed, recipe)
        for dtype, graph in graphs.items():
            again = run_instance(graph, seed)  # by a recipe of its own
            for first, second in zip(outputs[dtype], again, strict=True):
                assert first.dtype == second.dtype and torch.equal(first, second)
                assert not first.is_floating_point() or first.isfinite().all()
            assert disagreement(outputs["float32"], outputs[dtype], dtype) <= MAX_DISAGREEMENT
        assert outputs["float16"][0].dtype != torch.float32 or not outputs["float16"][0].is_floating_point()


def test_dtypes_take_the_same_values_cast_down() -> None:
    (graphs,) = rendered("timm/test_vit", 3, 1, seed=2)
    recipe = instance_recipe(graphs["bfloat16"], 5)
    wide = make_operands(graphs["float32"], recipe)
    for dtype in ("float16", "bfloat16"):
        narrow = make_operands(graphs[dtype], recipe)
        for one, other, meta in zip(wide, narrow, graphs[dtype].tensors, strict=True):
            assert (tuple(other.shape), other.stride()) == (meta.shape, meta.stride)
            assert str(other.dtype) == f"torch.{meta.dtype}"
            assert torch.equal(one.to(other.dtype), other)


def test_the_twin_of_a_half_precision_instance_is_the_float32_one() -> None:
    for graphs in rendered("timm/test_vit", 2, 4, seed=3):
        twins = {dtype: replace(float32_twin(graph), outputs=()) for dtype, graph in graphs.items()}
        assert twins["float16"] == twins["bfloat16"] == twins["float32"]


def test_a_call_whose_shape_takes_values_to_know_runs_in_half_precision() -> None:
    x = torch.ones(3, 4, dtype=torch.bfloat16)
    graph = trace_module(Program(lambda m, x: x.nonzero(as_tuple=True)), (x,), subject="nonzero").graph
    outputs = run_instance(graph, 5)
    assert [output.shape for output in outputs] == [(12,), (12,)]


@pytest.mark.parametrize(
    "body",
    [
        lambda m, x: torch.rsqrt(x + 1e-6) * 2,
        lambda m, x: torch.log(x.mean(-1)),
        lambda m, x: x / x.sum(-1, keepdim=True),
        lambda m, x: x.pow(0.5).neg(),
        lambda m, x: (50 * x).softmax(-1),
        lambda m, x: (x @ x.t()).exp(),
        lambda m, x: x * x.mul(30).exp(),
        lambda m, x: (100 * x).pow(3),
        lambda m, x: torch.arange(64, device=x.device) * x,
        lambda m, x: (40 * x).masked_fill(x > 0, torch.finfo(x.dtype).min).softmax(-1),
    ],
)
def test_what_is_steep_or_leaves_the_range_of_half_precision_is_finite_and_agrees(body: Any) -> None:
    graphs = {
        dtype: trace_module(
            Program(body).to("meta"), (torch.empty(8, 64, device="meta", dtype=getattr(torch, dtype)),), subject="test"
        ).graph
        for dtype in DTYPES
    }
    for seed in range(10):
        outputs = {dtype: run_instance(graph, seed) for dtype, graph in graphs.items()}
        for dtype in DTYPES:
            assert disagreement(outputs["float32"], outputs[dtype], dtype) <= MAX_DISAGREEMENT


@pytest.mark.parametrize(
    ("expected", "got", "far"),
    [
        ([1.0, 2.0], [1.0, 2.0], 0.0),
        ([1.0, 2.0], [1.0, 2.0 + 2**-9], 1.0),  # 2 ** -9 of 2.0 is one epsilon
        ([1.0, 2.0], [1.0, 3.0], 512.0),
        ([1.0, torch.finfo(torch.float32).min], [1.0, torch.finfo(torch.float16).min], 0.0),
        ([1.0, torch.finfo(torch.float32).min], [1.0, 5.0], math.inf),
        ([1.0, 2.0], [1.0, math.nan], math.inf),
        ([1.0, math.inf], [1.0, math.inf], math.inf),
        ([1, 2], [1, 2], 0.0),
        ([1, 2], [1, 3], math.inf),
        ([1.0, 2.0], [1, 2], math.inf),
    ],
)
def test_disagreement_by_hand(expected: list[float], got: list[float], far: float) -> None:
    left, right = torch.tensor(expected), torch.tensor(got)
    assert disagreement([left], [right], "float16") == far
    assert disagreement([left], [left, right], "float16") == math.inf
