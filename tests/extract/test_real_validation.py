"""Verdicts on real operands: NaN is found, in-place and random graphs decompose bit for bit, budgets are kept."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
import torch

from extract.budget import RealBudget
from extract.graph import Graph, OpRef
from extract.hashing import hash_graph
from extract.literals import arguments_json
from extract.model_tracing import trace_model
from extract.real_validation import largest_difference, same_bits
from extract.text import render
from extract.tracer import trace_module
from extract.validation import validate
from extract.verdicts import Constraint, StoredGraph
from tests.extract.conftest import Program


def stored(graph: Graph) -> StoredGraph:
    calls = tuple((node.op, node.target, arguments_json(node)) for node in graph.nodes)
    return StoredGraph(graph, render(graph), calls, hash_graph(graph))


def graph_of(body: Callable[..., object], *inputs: torch.Tensor) -> Graph:
    module = Program(body).to("meta")
    return trace_module(module, tuple(value.to("meta") for value in inputs), subject="test").graph


def verdicts(graph: Graph, budget: RealBudget | None = None) -> dict[str, Constraint]:
    return {verdict.constraint: verdict for verdict in validate(stored(graph), "real", budget)}


@pytest.mark.parametrize("name", ["test_resnet", "test_vit", "test_nfnet", "test_convnext", "resnet18"])
def test_a_traced_model_is_runnable_and_decomposes_bit_for_bit(name: str) -> None:
    found = verdicts(trace_model(f"timm/{name}").graph)
    assert {verdict.outcome for verdict in found.values()} == {"passed"}, found
    assert {verdict.level for verdict in found.values()} == {"real"}
    assert set(found) == {"runnable", "decomposable"}


def test_an_output_that_is_not_finite_is_a_finding_that_names_the_op() -> None:
    graph = graph_of(lambda module, x: torch.log(-module.linear(x).square() - 1) + 1, torch.ones(2, 4))
    found = verdicts(graph)["runnable"]
    assert (found.outcome, found.reason) == ("failed", "non_finite")
    assert "(log) is the first" in (found.detail or "")


def test_in_place_writes_into_an_operand_do_not_leak_into_the_next_run() -> None:
    def body(module: torch.nn.Module, x: torch.Tensor) -> torch.Tensor:
        x.add_(1)
        view = x.view(-1)[:4]
        view.mul_(3)
        return torch.relu(x) + view.sum()

    found = verdicts(graph_of(body, torch.ones(2, 4)))
    assert {verdict.outcome for verdict in found.values()} == {"passed"}, found


def test_random_ops_draw_the_same_numbers_whole_and_in_pieces() -> None:
    def body(module: torch.nn.Module, x: torch.Tensor) -> torch.Tensor:
        noisy = torch.nn.functional.dropout(module.linear(x), 0.5, training=True)
        return noisy + torch.rand_like(noisy) + torch.bernoulli(torch.sigmoid(noisy))

    found = verdicts(graph_of(body, torch.ones(8, 4)))
    assert {verdict.outcome for verdict in found.values()} == {"passed"}, found


def test_a_graph_beyond_the_budget_is_not_run_and_says_what_it_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = trace_model("timm/test_vit").graph
    monkeypatch.setattr("extract.real_validation.replay", None)
    for budget in (RealBudget(max_flop=1e6), RealBudget(max_bytes=1 << 10)):
        found = verdicts(graph, budget)
        assert {(v.outcome, v.reason) for v in found.values()} == {("not_applicable", "over_budget")}
        assert f"at most {budget.max_bytes} and" in (found["runnable"].detail or "")


def test_outputs_that_are_all_zero_prove_nothing() -> None:
    found = verdicts(graph_of(lambda module, x: (torch.relu(x) * 0).view(-1).neg(), torch.ones(2, 4)))
    assert found["runnable"].outcome == "passed"
    assert (found["decomposable"].outcome, found["decomposable"].reason) == ("not_applicable", "all_zero")


def test_what_torch_raises_on_real_operands_is_a_finding() -> None:
    graph = graph_of(lambda module, x: torch.linalg.cholesky(-x @ x.T) + 1, torch.ones(4, 4))
    found = verdicts(graph)
    assert {(v.outcome, v.reason) for v in found.values()} == {("failed", "raised")}


def test_memory_that_runs_out_is_its_own_reason() -> None:
    graph = graph_of(lambda module, x: torch.zeros(1 << 48, device="cpu").sum() + x.sum(), torch.ones(4))
    first = graph.nodes[0]
    lying = replace(first, outputs=tuple(replace(output, shape=(), stride=()) for output in first.outputs))
    assert verdicts(replace(graph, nodes=(lying, *graph.nodes[1:])))["runnable"].reason == "out_of_memory"


def test_a_graph_of_one_op_makes_no_pieces() -> None:
    graph = graph_of(lambda module, x: torch.relu(x), torch.ones(2))
    assert verdicts(Graph(graph.nodes, graph.tensors, (OpRef(0),)))["decomposable"].reason == "too_few_ops"


def test_equal_bits_differ_by_nothing_and_other_shapes_by_infinity() -> None:
    tensor = torch.tensor([1.0, float("nan")])
    assert largest_difference((tensor,), (tensor.clone(),)) == 0.0
    assert largest_difference((tensor,), (tensor[:1],)) == float("inf")
    assert largest_difference((torch.tensor([2.0]),), (torch.tensor([1.0]),)) == 0.5
    assert largest_difference((torch.tensor([0.0]),), (torch.tensor([-0.0]),)) > 0
    assert largest_difference((tensor,), ()) == float("inf")
    assert same_bits(torch.ones(2, 3).T, torch.ones(3, 2))
    assert same_bits(torch.tensor([1j]).conj(), torch.tensor([1j]).conj().resolve_conj())


def test_one_element_of_any_stride_has_bits() -> None:
    strided = torch.arange(24).reshape(2, 12)[:1, ::12]
    assert same_bits(strided, torch.zeros(1, 1, dtype=torch.int64))
    assert not same_bits(strided, torch.ones(1, 1, dtype=torch.int64))
