"""At which of its places a single op is generalized."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest

from extract.call_forms import form_calls
from extract.graph import Graph, Node, OpRef, OutputMeta, TensorMeta, TensorRef, TorchConstant
from extract.hashing import signature_sha256, single_op_keys
from extract.model_ref import ModelRef, Trace
from storage.corpus import Corpus
from storage.query import run_query
from storage.records import rows_to_table
from storage.single_op_places import single_op_places
from tests.storage.sample_traces import batch

FLOATS = (OutputMeta((), (2, 4), (4, 1), "float32"),)
X = TensorMeta("x", "input", "x", (2, 4), (4, 1), "float32")
CAST = Node("to", "torch.Tensor.to", (TensorRef(0), TorchConstant("dtype", "float32")), (), FLOATS)


def cos(of: int) -> Node:
    return Node("cos", "torch.cos", (OpRef(of),), (), FLOATS)


def graph(*nodes: Node) -> Graph:
    return Graph(nodes, (X,), (OpRef(len(nodes) - 1),))


MADE = Node("ones", "torch.ones", (2, 4), (), FLOATS)
TABLES = graph(MADE, cos(0), Node("add", "torch.add", (TensorRef(0), OpRef(1)), (), FLOATS))  # cos of no input
UPCAST = graph(CAST, cos(0))  # in float32 whatever the model is in
BLOCK = graph(Node("neg", "torch.neg", (TensorRef(0),), (), FLOATS), cos(0), cos(1))


FEW_OPS = 2
USABLE = {"open_reasons": [], "model_ids": None}


def places_of_cos(
    path: Path, *graphs: Graph, passed_over: Graph | None = None, at: Mapping[str, int] | None = None
) -> list[dict[str, Any]]:
    """Where `cos` is generalized, in a corpus of these graphs, of which one is not to be taken; `at` is its op in each
    by signature (default: the second)."""
    traces = [
        Trace(ModelRef(f"timm/m{number}", "timm"), one, "function_mode", "meta", (), "2.14.1", 0.1, 0.1)
        for number, one in enumerate(graphs)
    ]
    places = at or {signature_sha256(one): 1 for one in graphs}
    (key,) = {single_op_keys(one, form_calls(one.nodes))[places[signature_sha256(one)]] for one in graphs}
    with Corpus.create(path) as corpus:
        corpus.commit(corpus.stage(batch(traces), "trace"), "trace")
        row = {
            "subgraph_sha256": key, "kind": "single_op", "op_sequence": ["cos"], "op_sequence_xxh3": "0",
            "num_ops": 1, "num_inputs": 1, "connected": True,
        }  # fmt: skip
        corpus.commit(corpus.stage({"subgraphs": rows_to_table("subgraphs", [row])}, "mine"), "mine")
        pairs = [] if passed_over is None else [f"{key} {signature_sha256(passed_over)}"]
        return single_op_places(corpus, run_query(corpus, "generalize_graphs", USABLE), FEW_OPS, pairs)


@pytest.mark.parametrize("order", list(permutations(range(3))))
def test_the_place_that_varies_by_both_is_taken_whatever_the_signatures(tmp_path: Path, order: tuple[int, ...]) -> None:
    (place,) = places_of_cos(tmp_path / "c", *[(TABLES, UPCAST, BLOCK)[index] for index in order])
    assert (place["signature_sha256"], place["start"], place["end"]) == (signature_sha256(BLOCK), 1, 2)


def test_an_input_matters_more_than_the_dtype(tmp_path: Path) -> None:
    (place,) = places_of_cos(tmp_path / "c", TABLES, UPCAST)
    assert place["signature_sha256"] == signature_sha256(UPCAST)


def test_of_equal_places_the_lowest_signature_and_the_first_op(tmp_path: Path) -> None:
    other = graph(Node("exp", "torch.exp", (TensorRef(0),), (), FLOATS), cos(0))
    (place,) = places_of_cos(tmp_path / "c", BLOCK, other)
    lowest = min(signature_sha256(BLOCK), signature_sha256(other))
    assert (place["signature_sha256"], place["start"]) == (lowest, 1)


def test_a_graph_that_is_passed_over_is_no_place_and_not_counted(tmp_path: Path) -> None:
    (place,) = places_of_cos(tmp_path / "all", TABLES, UPCAST, BLOCK)
    assert (place["signature_sha256"], place["num_graphs"]) == (signature_sha256(BLOCK), 3)
    (place,) = places_of_cos(tmp_path / "less", TABLES, UPCAST, BLOCK, passed_over=BLOCK)
    assert (place["signature_sha256"], place["num_graphs"]) == (signature_sha256(UPCAST), 2)
    assert places_of_cos(tmp_path / "none", BLOCK, passed_over=BLOCK) == []


@pytest.mark.parametrize("first", [True, False])
def test_a_place_within_few_ops_goes_before_one_behind_them(tmp_path: Path, first: bool) -> None:
    abs_ = [Node("abs", "torch.abs", (OpRef(index),), (), FLOATS) for index in range(4)]
    late = graph(Node("exp", "torch.exp", (TensorRef(0),), (), FLOATS), *abs_, cos(4))
    later = graph(Node("tanh", "torch.tanh", (TensorRef(0),), (), FLOATS), *abs_, abs_[3], cos(5))
    graphs = (late, later, BLOCK) if first else (later, late)
    with_cos = {signature_sha256(late): 5, signature_sha256(later): 6, signature_sha256(BLOCK): 1}
    (place,) = places_of_cos(tmp_path / "c", *graphs, at=with_cos)
    assert place["signature_sha256"] == signature_sha256(BLOCK if first else late)
