"""Mining by hand-made graphs: rows as defined, the same tables whatever the order and whenever graphs came."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path
from typing import Any, cast

import pyarrow as pa
import pytest

from extract.cut import Cutter
from extract.graph import Graph, Node, OpRef, OutputMeta, Ref, TensorMeta, TensorRef
from extract.hashing import graph_sha256
from extract.model_ref import ModelRef, Trace
from mining.folding import FoldingConfig
from storage.comparison import comparable_tables
from storage.corpus import Corpus
from storage.fsck import fsck
from storage.grammars import StoredGrammar, latest_grammar
from storage.query import run_query
from tasks.mine import (
    Candidate,
    MiningSession,
    find_candidates,
    learn_grammar,
    list_single_ops,
    mine_classical,
    without_mined,
)
from tests.storage.sample_traces import batch

MINED = ("grammars", "patterns", "subgraphs", "subgraph_texts", "occurrences", "excluded_ranges", "mined_graphs")
OUT = (OutputMeta((), (2, 4), (4, 1), "float32"),)
BLOCK = ("linear", "relu", "mul", "sigmoid", "add")
WRITES_FIRST = ("relu_", "neg", "tanh", "abs", "exp")


def call(op: str, last: Ref, skip: Ref) -> Node:
    if op == "linear":
        return Node(op, "torch.nn.functional.linear", (last, TensorRef(1)), (), OUT)
    if op in ("mul", "add"):
        return Node(op, f"torch.{op}", (last, skip), (), OUT)
    return Node(op, f"torch.{op}", (last,), (), OUT)


def chain(*ops: str) -> Graph:
    """Ops one after the other; `mul` and `add` also take what the op before their operand's took."""
    nodes: list[Node] = []
    last: Ref = TensorRef(0)
    skip: Ref = TensorRef(0)
    for index, op in enumerate(ops):
        nodes.append(call(op, last, skip))
        skip, last = last, OpRef(index)
    tensors = (
        TensorMeta("x", "input", "x", (2, 4), (4, 1), "float32"),
        TensorMeta("w", "parameter", "fc.weight", (4, 4), (4, 1), "float32"),
    )
    return Graph(tuple(nodes), tensors, (last,))


def some_graphs(count: int, seed: int = 0) -> list[Graph]:
    rng = random.Random(seed)
    noise = ("cos", "sin", "exp", "tanh", "abs", "neg")
    graphs: list[Graph] = []
    for _ in range(count):
        ops: list[str] = []
        for _ in range(rng.randint(1, 6)):
            ops += [rng.choice(noise) for _ in range(rng.randint(1, 2))]
            ops += rng.choice((BLOCK, BLOCK, WRITES_FIRST))
        graphs.append(chain(*ops))
    return graphs


def add_graphs(corpus: Corpus, graphs: Sequence[Graph], first: int = 0) -> None:
    traces = [
        Trace(
            ModelRef(f"timm/m{number}", "timm", family=f"f{number % 3}", num_parameters=16),
            graph, "function_mode", "meta", (), "2.14.1", 0.1, 0.1,
        )
        for number, graph in enumerate(graphs, first)
    ]  # fmt: skip
    corpus.commit(corpus.stage(batch(traces), "trace"), "trace")


@pytest.fixture
def workers() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(1) as pool:
        yield pool


def mine(corpus: Corpus, workers: Any, shards: Sequence[Sequence[Candidate]], grammar: StoredGrammar) -> None:
    session = MiningSession(corpus, cast(Any, workers), "mine")
    for number, shard in enumerate(shards):
        report = mine_classical.fn(session, number, grammar, shard)
        corpus.commit(report.staged, "mine")
    corpus.commit(list_single_ops.fn(session), "mine")


def learned(corpus: Corpus) -> StoredGrammar:
    return learn_grammar.fn(corpus, find_candidates(corpus), FoldingConfig(num_folds=6), "learn")


def mined_tables(corpus: Corpus) -> dict[str, pa.Table]:
    return {name: rows for name, rows in comparable_tables(corpus).items() if name in MINED}


@pytest.fixture
def corpus(tmp_path: Path) -> Iterator[Corpus]:
    with Corpus.create(tmp_path / "corpus") as opened:
        add_graphs(opened, some_graphs(40))
        yield opened


def test_rows_are_what_the_graphs_say(corpus: Corpus, workers: Any) -> None:
    grammar = learned(corpus)
    candidates = find_candidates(corpus)
    mine(corpus, workers, [candidates], grammar)
    assert fsck(corpus, deep=True) == []
    graphs = {graph_sha256(graph): graph for graph in some_graphs(40)}
    program_of = {candidate.signature_sha256: candidate.graph_sha256 for candidate in candidates}
    occurrences = corpus.read("occurrences").to_pylist()
    assert len(occurrences) > 20
    for row in occurrences:
        piece = Cutter(graphs[program_of[row["signature_sha256"]]]).cut(row["start"], row["end"])
        assert graph_sha256(piece.graph) == row["subgraph_sha256"]
        assert 4 <= row["end"] - row["start"] <= 62
    excluded = corpus.read("excluded_ranges").to_pylist()
    assert {row["reason"] for row in excluded} == {"mutates_boundary"}
    spans = sorted((row["signature_sha256"], row["start"], row["end"]) for row in [*occurrences, *excluded])
    disjoint = all(a[0] != b[0] or a[2] <= b[1] for a, b in pairwise(spans))
    assert disjoint
    assert without_mined(corpus, candidates, "classical", grammar.grammar_id) == []
    expansions = {tuple(row["expansion"]): row for row in corpus.read("patterns").to_pylist()}
    assert BLOCK in {expansion[-5:] for expansion in expansions} | {expansion[:5] for expansion in expansions}
    assert all(set(row["families"]) <= {"f0", "f1", "f2"} for row in expansions.values())


def test_support_counts_programs_and_places(corpus: Corpus, workers: Any) -> None:
    mine(corpus, workers, [find_candidates(corpus)], learned(corpus))
    with corpus.connect() as connection:
        rows = connection.execute("FROM subgraph_support").fetchall()
        nodes = connection.execute(
            "SELECT single_op_sha256, signature_sha256 FROM nodes WHERE op <> 'relu_'"
        ).fetchall()
    support = {(sha, kind): (programs, places) for sha, kind, programs, places in rows}
    occurrences = corpus.read("occurrences").to_pylist()
    program_of = {candidate.signature_sha256: candidate.graph_sha256 for candidate in find_candidates(corpus)}
    places = [(row["subgraph_sha256"], "classical", row["signature_sha256"]) for row in occurrences]
    places += [(key, "single_op", signature) for key, signature in nodes]
    expected: dict[tuple[str, str], tuple[int, int]] = {}
    for key in {place[:2] for place in places}:
        own = [place for place in places if place[:2] == key]
        expected[key] = (len({program_of[place[2]] for place in own}), len(own))
    assert support == expected


def test_an_op_that_writes_into_its_operand_is_no_single_op(corpus: Corpus, workers: Any) -> None:
    mine(corpus, workers, [find_candidates(corpus)], learned(corpus))
    seen = set(corpus.read("nodes", ["op"]).column(0).to_pylist())
    subgraphs = corpus.read("subgraphs").to_pylist()
    assert "relu_" in seen
    assert {row["op_sequence"][0] for row in subgraphs if row["kind"] == "single_op"} == seen - {"relu_"}


def test_the_order_of_shards_does_not_matter(tmp_path: Path, workers: Any) -> None:
    found: list[dict[str, pa.Table]] = []
    for seed in range(2):
        with Corpus.create(tmp_path / str(seed)) as corpus:
            add_graphs(corpus, some_graphs(40))
            grammar = learned(corpus)
            candidates = find_candidates(corpus)
            random.Random(seed).shuffle(candidates)
            mine(corpus, workers, [candidates[start : start + 7] for start in range(0, 40, 7)], grammar)
            found.append(mined_tables(corpus))
    assert found[0] == found[1]


def test_graphs_that_come_later_are_read_by_the_same_grammar(tmp_path: Path, workers: Any) -> None:
    graphs = some_graphs(60)
    found: list[dict[str, pa.Table]] = []
    for is_late in (False, True):
        with Corpus.create(tmp_path / str(is_late)) as corpus:
            add_graphs(corpus, graphs[:30])
            grammar = learned(corpus)
            if is_late:
                mine(corpus, workers, [find_candidates(corpus)], grammar)
            add_graphs(corpus, graphs[30:], first=30)
            stored = latest_grammar(corpus)
            assert stored == grammar
            missing = without_mined(corpus, find_candidates(corpus), "classical", grammar.grammar_id)
            mine(corpus, workers, [missing], grammar)
            found.append(mined_tables(corpus))
            assert fsck(corpus) == []
    assert found[0] == found[1]


def test_a_new_grammar_leaves_the_rows_of_the_old_one(corpus: Corpus, workers: Any) -> None:
    first = learned(corpus)
    mine(corpus, workers, [find_candidates(corpus)], first)
    before = {tuple(row.values()) for row in corpus.read("occurrences").to_pylist()}
    add_graphs(corpus, some_graphs(10, seed=9), first=40)
    second = learned(corpus)
    assert first.grammar_id != second.grammar_id and latest_grammar(corpus) == second
    mine(corpus, workers, [find_candidates(corpus)], second)
    assert before < {tuple(row.values()) for row in corpus.read("occurrences").to_pylist()}
    assert fsck(corpus) == []
    (summary, _) = run_query(corpus, "mining_summary")
    assert summary["kind"] == "classical"
