"""Equal hashes, equal texts; and the respelled program computes what the first one computes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F

from extract.canonical import bind
from extract.canonical_spelling import canonical_graph
from extract.graph import Graph, Node, Ref, TensorRef, iter_refs
from extract.hashing import graph_sha256
from extract.model_tracing import trace_model
from extract.operands import operand_recipe
from extract.replay import replay
from extract.text import render
from extract.tracer import trace_module
from tests.extract.conftest import Program


def graph_of(body: Callable[..., Any]) -> Graph:
    return trace_module(Program(body), (torch.randn(4, 4), torch.randn(4, 4)), subject="test").graph


def in_place_result(m: Any, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    z = x + y
    return z.mul_(2.0).relu_() - y


def in_place_operand(m: Any, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    z = torch.add(other=y, input=x)
    z *= 2.0
    F.relu(z, inplace=True)
    return torch.sub(z, y)


SPELLINGS: list[tuple[Callable[..., Any], Callable[..., Any]]] = [
    (lambda m, x, y: x + y, lambda m, x, y: torch.add(input=x, other=y)),
    (lambda m, x, y: x.relu().transpose(0, 1), lambda m, x, y: torch.transpose(F.relu(x), dim0=0, dim1=1)),
    (lambda m, x, y: x.reshape(2, 8), lambda m, x, y: torch.reshape(x, (2, 8))),
    (lambda m, x, y: F.linear(x, y), lambda m, x, y: torch.nn.functional.linear(input=x, weight=y, bias=None)),
    (lambda m, x, y: 2.0 - x, lambda m, x, y: x.__rsub__(2.0)),
    (lambda m, x, y: x.softmax(-1) @ y, lambda m, x, y: torch.matmul(torch.softmax(x, dim=-1), y)),
    (lambda m, x, y: torch.mm(x, y), lambda m, x, y: x.mm(y)),
    (lambda m, x, y: torch.dsmm(x, y), lambda m, x, y: torch.mm(x, y)),
    (in_place_result, in_place_operand),
]


@pytest.mark.parametrize(("left", "right"), SPELLINGS)
def test_equal_hashes_have_equal_texts(left: Callable[..., Any], right: Callable[..., Any]) -> None:
    graphs = [graph_of(left), graph_of(right)]
    assert graph_sha256(graphs[0]) == graph_sha256(graphs[1])
    texts = {render(canonical_graph(graph)) for graph in graphs}
    assert len(texts) == 1, texts
    for graph in graphs:
        check_same_program(graph, seed=1)


@pytest.mark.parametrize("name", ["test_resnet", "test_vit", "test_efficientnet", "test_nfnet", "efficientformer_l1"])
def test_a_models_graph_keeps_hash_and_bits(name: str) -> None:
    check_same_program(trace_model(f"timm/{name}").graph, seed=0)


def check_same_program(graph: Graph, seed: int) -> None:
    canonical = canonical_graph(graph)
    assert graph_sha256(canonical) == graph_sha256(graph)
    assert canonical_graph(canonical) == canonical
    operands = operand_recipe(graph, seed).make()
    expected = replay(graph, [operand.clone() for operand in operands])
    order = first_uses(graph, canonical)
    got = replay(canonical, [operands[index].clone() for index in order])
    assert all(torch.equal(a, b) for a, b in zip(expected, got, strict=True))


def first_uses(graph: Graph, canonical: Graph) -> list[int]:
    """Which tensor of `graph` stands behind each of `canonical`, by walking both bodies side by side."""
    found: dict[int, int] = {}
    for old, new in zip(graph.nodes, canonical.nodes, strict=True):
        olds, news = by_name(old), by_name(new)
        for name, refs in news.items():
            for mine, theirs in zip(refs, olds[name], strict=True):
                if isinstance(mine, TensorRef) and isinstance(theirs, TensorRef):
                    found.setdefault(mine.index, theirs.index)
    return [found[number] for number in range(len(canonical.tensors))]


def by_name(node: Node) -> dict[str, list[Ref]]:
    return {name: list(iter_refs(value)) for name, value in bind(node)[1]}
