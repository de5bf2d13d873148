"""The comparison of tracers: the sides make the same graphs, and ratios count the same models."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from benchmarks.model_list import TRACE45, read_names
from benchmarks.peers.captured import Captured, measure, to_graph
from benchmarks.refresh_runs import STARTER, write_model_list
from benchmarks.trace import SideRun, compare
from extract.hashing import hash_graph
from extract.sources import list_models
from extract.tracer import trace_module


class Tiny(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(8, 12)
        self.norm = torch.nn.BatchNorm1d(4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        first, second, _ = self.linear(x).reshape(-1, 4, 3).unbind(2)
        return torch.nn.functional.relu(self.norm(first)) + second[:, :1]


def dynamo_graph(module: torch.nn.Module, inputs: torch.Tensor) -> Captured:
    kept: list[Captured] = []

    def keep(graph: torch.fx.GraphModule, operands: list[Any]) -> Any:
        kept.append(Captured(graph, list(operands)))
        return graph.forward

    torch._dynamo.reset()
    with torch.no_grad():
        torch.compile(module, backend=keep)(inputs)
    return kept[0]


def test_a_graph_captured_by_dynamo_becomes_the_graph_that_we_trace() -> None:
    module, inputs = Tiny().eval(), torch.randn(2, 8)
    ours = trace_module(module, (inputs,), subject="tiny").graph
    theirs = to_graph(dynamo_graph(module, inputs))
    assert theirs.op_names == ours.op_names
    assert hash_graph(theirs).graph_sha256 == hash_graph(ours).graph_sha256
    assert {tensor.kind for tensor in theirs.tensors} == {"input", "parameter", "buffer"}


def test_a_measured_tensor_has_the_moments_of_its_values() -> None:
    meta = measure("w", "parameter", torch.tensor([[1.0, 2.0], [3.0, 6.0]]))
    assert (meta.mean, meta.min, meta.max, meta.values) == (3.0, 1.0, 6.0, (1.0, 2.0, 3.0, 6.0))
    assert meta.std == pytest.approx(torch.tensor([1.0, 2.0, 3.0, 6.0]).std().item())
    assert measure("w", "parameter", torch.empty(2, device="meta")).stats_source == "none"


def side(times: dict[str, float | None], write_s: float) -> SideRun:
    entries = {
        name: {"total_s": seconds or 9.0, "error": None if seconds is not None else "failed"}
        for name, seconds in times.items()
    }
    return SideRun(entries, write_s, 0, 0)


def test_a_ratio_counts_models_on_which_both_succeeded() -> None:
    ours = side({"a": 1.0, "b": 1.0}, write_s=2.0)
    assert compare(ours, side({"a": 9.0, "b": None}, write_s=1.0)) == 10.0 / 2.0
    assert compare(ours, side({"a": None, "b": None}, write_s=0.0)) is None


def test_the_model_lists_name_models_that_there_are_once_each(tmp_path: Any) -> None:
    known = {model.model_id for source in ("timm", "transformers") for model in list_models(source)}
    trace45, starter = read_names(TRACE45), read_names(STARTER)
    assert [sum(name.startswith(source) for name in trace45) for source in ("timm/", "transformers/")] == [30, 15]
    assert trace45 == sorted(set(trace45))
    assert starter == sorted(set(starter))
    assert {*trace45, *starter} <= known
    hundred = write_model_list(tmp_path / "models.txt", 100, seed=1)
    assert len(set(hundred)) == 100
    assert read_names(tmp_path / "models.txt") == hundred
