"""Picks by value: half precision follows float32's at near ties, and only there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

from extract.graph import Graph
from extract.shape_configs import DTYPES
from extract.tracer import trace_module
from profiles.instance_run import MAX_DISAGREEMENT, disagreement, instance_recipe, run_in_dtypes
from profiles.value_choices import FollowChoices, RecordChoices
from tests.extract.conftest import Program

Pick = Callable[[torch.Tensor], Any]

PICKS: list[Pick] = [
    lambda x: x.topk(3),
    lambda x: torch.topk(x, 2, 0),
    lambda x: torch.topk(x, k=2, dim=0, largest=False),
    lambda x: x.sort(),
    lambda x: torch.sort(x, 0, True),
    lambda x: torch.sort(x, dim=1, stable=True),
    lambda x: x.max(1),
    lambda x: torch.min(x, 0, keepdim=True),
    lambda x: torch.kthvalue(x, 2),
    lambda x: x.kthvalue(3, 0),
    lambda x: x.median(1),
    lambda x: (torch.argsort(x),),
    lambda x: (torch.argsort(x, 0, True),),
    lambda x: (x.argmax(),),
    lambda x: (x.argmax(-1),),
    lambda x: (torch.argmin(x, 0, keepdim=True),),
]


@pytest.mark.parametrize("pick", PICKS)
def test_near_ties_are_picked_as_recorded(pick: Pick) -> None:
    draw = torch.Generator().manual_seed(3)
    exact = torch.randn(6, 9, generator=draw).round(decimals=1)
    exact = exact + 1e-5 * torch.randn(6, 9, generator=draw)  # ties in half precision, none in float32
    with RecordChoices() as recorded:
        wide = pick(exact)
    with FollowChoices(recorded.indices, MAX_DISAGREEMENT):
        narrow = pick(exact.half())
    assert torch.equal(wide[-1], narrow[-1])
    if len(wide) == 2:
        assert type(wide) is type(narrow)
        assert narrow[0].dtype == torch.float16 and torch.equal(wide[0].half(), narrow[0])


@pytest.mark.parametrize("pick", PICKS)
def test_a_worse_pick_is_not_followed(pick: Pick) -> None:
    exact = torch.randperm(54, generator=torch.Generator().manual_seed(1)).reshape(6, 9).float()
    with RecordChoices() as recorded:
        pick(exact)
    other = -exact.half()
    with FollowChoices(recorded.indices, MAX_DISAGREEMENT):
        followed = pick(other)
    for one, two in zip(pick(other), followed, strict=True):
        assert torch.equal(one, two)


def test_calls_that_pick_nothing_are_left_alone() -> None:
    one, two = torch.tensor([3.0, 1.0]), torch.tensor([2, 1])
    with RecordChoices() as recorded:
        _ = (one.max(), torch.max(one, one), two.sort(), two.argmax(), one + one)
    assert recorded.indices == []
    with FollowChoices([], MAX_DISAGREEMENT):  # fewer than asked for
        assert one.argmax() == 0


def test_experts_chosen_by_near_ties_agree_in_three_dtypes() -> None:
    def route(module: Any, x: torch.Tensor) -> torch.Tensor:
        scores, chosen = (x @ x.t()).round(decimals=0).mul(1.0).add(1e-4 * x.mean(-1)).topk(4)
        return x[chosen].sum(1) + scores.sum(-1, keepdim=True), chosen  # pyright: ignore[reportReturnType]

    graphs: dict[str, Graph] = {
        dtype: trace_module(
            Program(route).to("meta"),
            (torch.empty(16, 16, device="meta", dtype=getattr(torch, dtype)),),
            subject="test",
        ).graph
        for dtype in DTYPES
    }
    outputs = run_in_dtypes(graphs, 5, instance_recipe(graphs["float32"], 5))
    for dtype in DTYPES:
        assert disagreement(outputs["float32"], outputs[dtype], dtype) <= MAX_DISAGREEMENT
        assert torch.equal(outputs["float32"][1], outputs[dtype][1])
