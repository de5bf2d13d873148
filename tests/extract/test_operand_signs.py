"""Operands that roots, logarithms and quotients are taken of are found through the ops in between."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import torch

from extract.operand_signs import operand_signs
from extract.operands import operand_recipe
from extract.tracer import trace_module
from tests.extract.conftest import Program

X, Y = torch.empty(4, 6, device="meta"), torch.empty(4, 6, device="meta")


@pytest.mark.parametrize(
    ("body", "names"),
    [
        (lambda m, x, y: x.sqrt() + y, {"x"}),
        (lambda m, x, y: torch.rsqrt(x.view(-1).sum() + 1e-6) * y, {"x"}),
        (lambda m, x, y: torch.log(x + y), {"x", "others_0"}),
        (lambda m, x, y: torch.rsqrt(x.pow(2).mean()) * y, set()),  # a square is positive anyway
        (lambda m, x, y: torch.log(x.exp() + 1) * y, set()),
        (lambda m, x, y: x.pow(0.5) + y, {"x"}),
        (lambda m, x, y: x.pow(3) + y, set()),
        (lambda m, x, y: x / y.sum(-1, keepdim=True), {"others_0"}),
        (lambda m, x, y: (x - y).sqrt(), set()),  # not to be had by signs
        (lambda m, x, y: x.chunk(2)[1].sqrt() + y.sum(), {"x"}),
    ],
)
def test_operands_that_must_be_positive(body: Any, names: set[str]) -> None:
    graph = trace_module(Program(body).to("meta"), (X, Y), subject="test").graph
    assert {graph.tensors[index].name for index in operand_signs(graph)} == names
    assert set(operand_signs(graph).values()) <= {1}


def test_integers_and_turned_signs_are_followed() -> None:
    """As T5 takes the logarithm of distances, which it has below zero."""

    def body(module: Any, distance: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return torch.log((-distance).float() / 16) * y

    distance = torch.empty(4, 6, dtype=torch.int64, device="meta")
    graph = trace_module(Program(body).to("meta"), (distance, Y), subject="test").graph
    assert operand_signs(graph) == {0: -1}
    recipe = replace(operand_recipe(graph, 0), signs=operand_signs(graph))
    drawn = recipe.make()[0]
    assert int(drawn.max()) < 0
