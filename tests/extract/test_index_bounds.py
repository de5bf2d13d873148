"""Indices that follow from literals are held against what they index; all others are let be."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from extract.index_bounds import out_of_bounds
from extract.tracer import trace_module
from tests.extract.conftest import Program

TABLE, INDEX = torch.empty(5, 6, device="meta"), torch.empty(4, dtype=torch.int64, device="meta")


def _written(end: int) -> Any:
    """As MViT looks up its relative positions: distances shifted in place."""

    def body(module: Any, table: torch.Tensor, index: torch.Tensor) -> torch.Tensor:
        distance = torch.arange(end).unsqueeze(-1) - torch.arange(3).unsqueeze(0)
        distance.add_(2)
        return table[distance.long()] + table[0]

    return body


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (lambda m, t, i: t[torch.arange(5)], None),
        (lambda m, t, i: t[torch.arange(6)], "index 5 is out of bounds for a dimension of size 5"),
        (lambda m, t, i: t[torch.arange(-5, 0)], None),
        (lambda m, t, i: t[torch.arange(-6, 0)], "index -6 is out of bounds"),
        (lambda m, t, i: t[:, torch.arange(6)], None),
        (lambda m, t, i: t[..., torch.arange(7)], "index 6 is out of bounds for a dimension of size 6"),
        (lambda m, t, i: t[None, torch.arange(6)], "index 5 is out of bounds"),
        (lambda m, t, i: t.index_select(1, torch.arange(7)), "index 6 is out of bounds"),
        (lambda m, t, i: torch.nn.functional.embedding(torch.arange(6), t), "index 5 is out of bounds"),
        (lambda m, t, i: torch.nn.functional.embedding(i, t), None),  # nobody knows
        (lambda m, t, i: t[torch.arange(6) + i.sum()], None),
        (lambda m, t, i: t[torch.ones(5, dtype=torch.bool)], None),  # a mask
        (lambda m, t, i: t[torch.randint(0, 9, (3,))], None),  # random
        (lambda m, t, i: t[torch.cat([torch.arange(9), i])], None),  # partly known
        (lambda m, t, i: t[torch.arange(6) * torch.ones_like(i[:1])], "index 5 is out of bounds"),
        (_written(3), None),
        (_written(4), "index 5 is out of bounds for a dimension of size 5"),
    ],
)
def test_indices_known_from_literals_are_checked(body: Any, said: str | None) -> None:
    graph = trace_module(Program(body).to("meta"), (TABLE, INDEX), subject="test").graph
    found = out_of_bounds(graph)
    assert (found is None) == (said is None)
    assert said is None or said in str(found)


def test_a_write_of_something_unknown_ends_what_is_known() -> None:
    def body(module: Any, table: torch.Tensor, index: torch.Tensor) -> torch.Tensor:
        places = torch.arange(4) + 5
        places.sub_(index)
        return table[places]

    graph = trace_module(Program(body).to("meta"), (TABLE, INDEX), subject="test").graph
    assert out_of_bounds(graph) is None


@pytest.mark.parametrize(("step", "is_beyond"), [(0, False), (2, True)])
def test_what_is_written_through_a_view_is_seen(step: int, is_beyond: bool) -> None:
    def body(module: Any, table: torch.Tensor, index: torch.Tensor) -> torch.Tensor:
        places = torch.arange(5)
        places[1:].add_(step)
        return table[places]

    graph = trace_module(Program(body).to("meta"), (TABLE, INDEX), subject="test").graph
    assert (out_of_bounds(graph) is not None) == is_beyond


def test_a_write_of_something_unknown_through_a_view_ends_what_is_known() -> None:
    def body(module: Any, table: torch.Tensor, index: torch.Tensor) -> torch.Tensor:
        places = torch.arange(4) + 5
        places.view(2, 2).sub_(index.view(2, 2))
        return table[places]

    graph = trace_module(Program(body).to("meta"), (TABLE, INDEX), subject="test").graph
    assert out_of_bounds(graph) is None
