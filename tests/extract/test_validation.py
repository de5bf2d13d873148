"""Verdicts: a good graph passes, and each kind of damage fails the check that it belongs to."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
import torch

from extract.custom_ops import CustomOp, collect_custom_ops, forbidden_import
from extract.graph import Graph, Node, OpRef, TensorMeta, TensorRef
from extract.hashing import hash_graph
from extract.literals import arguments_json
from extract.model_ref import ValueRead
from extract.pieces import choose_cuts
from extract.text import render
from extract.tracer import trace_module
from extract.validation import validate
from extract.verdicts import Constraint, StoredGraph


class Small(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(4, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = torch.relu(self.linear(x)).view(-1, 2)
        return y.transpose(0, 1).contiguous() + 1


def stored(graph: Graph, **changes: object) -> StoredGraph:
    calls = tuple((node.op, node.target, arguments_json(node)) for node in graph.nodes)
    return replace(StoredGraph(graph, render(graph), calls, hash_graph(graph)), **changes)  # pyright: ignore


@pytest.fixture(scope="module")
def graph() -> Graph:
    return trace_module(Small().to("meta"), (torch.empty(3, 4, device="meta"),), subject="small").graph


def verdicts(subject: StoredGraph) -> dict[str, Constraint]:
    return {verdict.constraint: verdict for verdict in validate(subject, "fake")}


def test_a_sound_graph_passes_all_that_applies(graph: Graph) -> None:
    found = verdicts(stored(graph))
    assert {name: verdict.outcome for name, verdict in found.items()} == {
        "runnable": "passed",
        "decomposable": "passed",
        "serializable": "passed",
        "statically_analyzable": "passed",
        "custom_op_accessible": "not_applicable",
        "specialised": "passed",
    }
    assert found["runnable"].level == "fake"
    assert found["statically_analyzable"].level == "static"


def test_the_static_level_runs_nothing(graph: Graph) -> None:
    assert {verdict.constraint for verdict in validate(stored(graph), "static")} == {
        "serializable",
        "statically_analyzable",
        "custom_op_accessible",
        "specialised",
    }


def test_a_graph_that_torch_refuses_is_not_runnable(graph: Graph) -> None:
    x, *rest = graph.tensors
    broken = replace(graph, tensors=(replace(x, shape=(3, 5), stride=(5, 1)), *rest))
    found = verdicts(stored(broken))
    assert (found["runnable"].outcome, found["runnable"].reason) == ("failed", "raised")
    assert "[3, 5]" in (found["runnable"].detail or "")


def test_an_op_off_the_allowlist_is_never_run(graph: Graph, tmp_path: Path) -> None:
    node = Node("load", "torch.load", (str(tmp_path / "weights"),))
    found = verdicts(stored(replace(graph, nodes=(*graph.nodes, node))))
    assert found["runnable"].reason == "op_not_allowed"


def test_an_op_that_is_not_registered_names_the_option_that_registers_it(graph: Graph) -> None:
    node = Node("their_lib.swish", "torch.ops.their_lib.swish.default", (TensorRef(0),))
    found = verdicts(stored(replace(graph, nodes=(*graph.nodes, node))))["runnable"]
    assert (found.outcome, found.reason) == ("failed", "op_not_allowed")
    assert (found.detail or "").endswith("is not registered; name the module that registers it with --import")


def test_a_replay_that_gives_other_shapes_than_recorded_is_found(graph: Graph) -> None:
    *rest, last = graph.nodes
    grown = replace(last, outputs=tuple(replace(o, shape=(9, 9), stride=(9, 1)) for o in last.outputs))
    assert verdicts(stored(replace(graph, nodes=(*rest, grown))))["runnable"].reason == "outputs_differ"


def test_a_graph_of_three_ops_makes_no_two_pieces(graph: Graph) -> None:
    short = Graph(graph.nodes[:2], graph.tensors, (OpRef(1),))
    assert verdicts(stored(short))["decomposable"].reason == "too_few_ops"


def test_changed_hashes_are_not_serializable(graph: Graph) -> None:
    hashes = replace(hash_graph(graph), structure_sha256="0" * 64)
    assert verdicts(stored(graph, hashes=hashes))["serializable"].reason == "hash_changed"


def test_a_text_that_tells_another_story_is_found(graph: Graph) -> None:
    text = render(graph).replace(".add(1)", ".add(2)")
    assert verdicts(stored(graph, text=text))["statically_analyzable"].reason == "text_differs"
    assert verdicts(stored(graph, text="def"))["statically_analyzable"].reason == "text_unreadable"


def test_reading_an_input_value_specialises_and_reading_a_constant_does_not(graph: Graph) -> None:
    reads = (ValueRead(2, "item", False),)
    assert verdicts(stored(graph, value_reads=reads))["specialised"].outcome == "passed"
    reads = (*reads, ValueRead(3, "__bool__", True))
    found = verdicts(stored(graph, value_reads=reads))["specialised"]
    assert (found.outcome, found.reason) == ("failed", "value_read")


def test_cuts_are_seeded_and_leave_pieces_of_two_ops(graph: Graph) -> None:
    cuts = choose_cuts(graph, "seed")
    assert cuts == choose_cuts(graph, "seed")
    assert len(cuts) == 3
    for boundaries in cuts:
        edges = [0, *boundaries, len(graph.nodes)]
        assert all(right - left >= 2 for left, right in pairwise(edges))


SOURCE = """
import torch

@torch.library.custom_op("passnet_test_{name}::twice", mutates_args=())
def twice(x: torch.Tensor) -> torch.Tensor:
    return x + x

@twice.register_fake
def _(x: torch.Tensor) -> torch.Tensor:
    return torch.empty_like(x)
"""


def custom_graph(name: str) -> Graph:
    x = TensorMeta("x", "input", "x", (2, 2), (2, 1), "float32")
    target = f"torch.ops.passnet_test_{name}.twice"
    return Graph((Node(f"passnet_test_{name}.twice", target, (TensorRef(0),)),), (x,), (OpRef(0),))


def test_an_op_whose_source_registers_it_alone_is_accessible(tmp_path: Path) -> None:
    graph = custom_graph("good")
    path = tmp_path / "custom_op_good.py"
    path.write_text(SOURCE.format(name="good"))
    namespace: dict[str, object] = {"__name__": "custom_op_good"}
    exec(compile(path.read_text(), str(path), "exec"), namespace)
    (op,) = collect_custom_ops(graph)
    assert op.source == path.read_text()
    assert verdicts(stored(graph, custom_ops=(op,)))["custom_op_accessible"].outcome == "passed"


@pytest.mark.parametrize(
    "source, reason",
    [
        (None, "source_unavailable"),
        ("import numpy", "forbidden_import"),
        ("import torch", "source_does_not_register"),
        ("def (", "source_unavailable"),
    ],
)
def test_an_op_without_a_source_of_its_own_is_not_accessible(source: str | None, reason: str) -> None:
    op = CustomOp("passnet_test_none.twice", None, source)
    found = verdicts(stored(custom_graph("none"), custom_ops=(op,)))["custom_op_accessible"]
    assert (found.outcome, found.reason) == ("failed", reason)


def test_imports_are_read_from_the_text() -> None:
    assert forbidden_import("import os, torch.nn\nfrom triton import jit") is None
    assert forbidden_import("def f():\n    from . import x") == "."
