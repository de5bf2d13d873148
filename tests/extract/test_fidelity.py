"""Fidelity: a stored graph is its model bit for bit, and whatever was tampered with shows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
import torch

from extract import fidelity
from extract.budget import RealBudget
from extract.fidelity import FidelityConfig, check_fidelity
from extract.graph import Graph
from extract.hashing import hash_graph
from extract.literals import arguments_json
from extract.model_ref import ModelRef, ValueRead
from extract.model_tracing import trace_model
from extract.sources import Inputs, Preparation, Prepared
from extract.text import render
from extract.tracer import trace_module
from extract.verdicts import StoredGraph


def stored(graph: Graph, **changes: Any) -> StoredGraph:
    calls = tuple((node.op, node.target, arguments_json(node)) for node in graph.nodes)
    return replace(StoredGraph(graph, render(graph), calls, hash_graph(graph)), **changes)


@pytest.mark.parametrize("name", ["test_resnet", "test_vit", "test_nfnet", "resnet18", "vit_tiny_patch16_224"])
def test_a_traced_model_is_its_graph_bit_for_bit(name: str) -> None:
    verdict = check_fidelity(stored(trace_model(f"timm/{name}").graph), f"timm/{name}")
    assert (verdict.outcome, verdict.level) == ("passed", "real"), verdict
    assert verdict.detail == f"timm/{name}: bit-identical on 2 inputs"


def test_a_literal_that_was_tampered_with_shows() -> None:
    graph = trace_model("timm/test_vit").graph
    position = next(index for index, node in enumerate(graph.nodes) if node.op == "layer_norm")
    node = graph.nodes[position]
    tampered = replace(node, kwargs=tuple((name, 1e-3 if name == "eps" else arg) for name, arg in node.kwargs))
    nodes = (*graph.nodes[:position], tampered, *graph.nodes[position + 1 :])
    verdict = check_fidelity(stored(replace(graph, nodes=nodes)), "timm/test_vit")
    assert (verdict.outcome, verdict.reason) == ("failed", "outputs_differ")
    assert "of the largest; unexplained" in (verdict.detail or "")


def test_a_parameter_that_the_model_does_not_have_shows() -> None:
    graph = trace_model("timm/test_vit").graph
    tensors = tuple(
        replace(t, original_name="absent") if t.original_name.endswith("bias") else t for t in graph.tensors
    )
    verdict = check_fidelity(stored(replace(graph, tensors=tensors)), "timm/test_vit")
    assert (verdict.outcome, verdict.reason) == ("failed", "operand_unknown")


def test_what_is_over_budget_or_has_no_source_does_not_apply() -> None:
    graph = stored(trace_model("timm/test_vit").graph)
    found = [
        check_fidelity(graph, "timm/test_vit", FidelityConfig(RealBudget(max_flop=1e3))),
        check_fidelity(graph, "timm/test_vit", FidelityConfig(max_params=10)),
        check_fidelity(graph, "elsewhere/model"),
    ]
    assert {verdict.outcome for verdict in found} == {"not_applicable"}
    assert [verdict.reason for verdict in found] == ["over_budget", "over_budget", "unknown_model"]


@pytest.mark.parametrize(("source", "how"), [("user", "captured"), ("import", "imported")])
def test_a_model_that_was_captured_or_imported_has_nothing_to_be_compared_with(source: str, how: str) -> None:
    verdict = check_fidelity(stored(trace_model("timm/test_resnet").graph), f"{source}/net")
    assert (verdict.outcome, verdict.reason) == ("not_applicable", "unknown_model")
    assert (verdict.detail or "").endswith(f"there is no model to build: it was {how}, and only its graph is kept")


class Tokens(torch.nn.Module):
    """Integer inputs, keyword arguments, a constant too large to be stored, a buffer that each run writes into."""

    def __init__(self) -> None:
        super().__init__()
        self.embed = torch.nn.Embedding(100, 16)
        self.register_buffer("seen", torch.zeros(1))
        self.table = torch.linspace(0, 1, 80 * 16).reshape(80, 16)

    def forward(self, ids: torch.Tensor, *, mask: torch.Tensor) -> dict[str, torch.Tensor]:
        self.seen += 1
        made = (self.embed(ids) + self.table[: ids.shape[1]]) * mask.unsqueeze(-1) + self.seen
        return {"states": torch.nn.functional.dropout(made, 0.1, training=True), "sum": made.sum()}


class Branching(torch.nn.Module):
    def forward(self, ids: torch.Tensor, *, mask: torch.Tensor) -> torch.Tensor:
        return ids * 2 if int(ids[0, 0]) == 1 else ids * 3


class Unsteady(torch.nn.Module):
    num_runs = 0

    def forward(self, ids: torch.Tensor, *, mask: torch.Tensor) -> torch.Tensor:
        self.num_runs += 1
        return ids + (self.num_runs if self.num_runs > 1 else 0)


def source_of(make: Callable[[], torch.nn.Module]) -> Callable[[str, Preparation], Prepared]:
    def make_inputs(seed: int) -> Inputs:
        ids = torch.randint(0, 100, (2, 70), generator=torch.Generator().manual_seed(seed))
        ids[0, 0] = seed
        return Inputs((ids,), {"mask": torch.rand(2, 70, generator=torch.Generator().manual_seed(seed))})

    return lambda model_id, preparation: Prepared(ModelRef(model_id, "test"), make(), make_inputs, {})


def traced(prepared: Prepared, seed: int = 1) -> StoredGraph:
    inputs = prepared.make_inputs(seed)
    recording = trace_module(prepared.module, inputs.args, inputs.kwargs, subject="test")
    return stored(recording.graph, value_reads=recording.value_reads)


@pytest.mark.parametrize(
    ("make", "outcome", "reason"),
    [
        (Tokens, "passed", None),
        (Branching, "failed", "value_read"),
        (Unsteady, "failed", "not_deterministic"),
    ],
)
def test_kinds_of_models_have_their_verdicts(
    monkeypatch: pytest.MonkeyPatch, make: Callable[[], torch.nn.Module], outcome: str, reason: str | None
) -> None:
    monkeypatch.setattr(fidelity, "prepare", source_of(make))
    graph = traced(source_of(make)("test/model", Preparation()))
    verdict = check_fidelity(graph, "test/model")
    assert (verdict.outcome, verdict.reason) == (outcome, reason), verdict


def test_a_large_constant_comes_from_a_new_trace_where_no_attribute_holds_it(monkeypatch: pytest.MonkeyPatch) -> None:
    large = [float(value) for value in range(80)]

    class Made(torch.nn.Module):
        def forward(self, ids: torch.Tensor, *, mask: torch.Tensor) -> torch.Tensor:
            with torch._C.DisableTorchFunction():
                made = torch.tensor(large)
            return mask[:, :1] * made

    monkeypatch.setattr(fidelity, "prepare", source_of(Made))
    graph = traced(source_of(Made)("test/model", Preparation()))
    constants = [tensor for tensor in graph.graph.tensors if tensor.kind == "constant"]
    assert [(tensor.values, tensor.original_name) for tensor in constants] == [(None, "")]
    assert check_fidelity(graph, "test/model").outcome == "passed"


def test_a_read_that_does_not_depend_on_the_input_explains_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fidelity, "prepare", source_of(Branching))
    branch = traced(source_of(Branching)("test/model", Preparation()))
    graph = replace(branch, value_reads=(ValueRead(0, "item", False),))
    assert check_fidelity(graph, "test/model").reason == "outputs_differ"
