"""A shard of graphs gets its verdicts; a graph that its child does not survive costs its rows and nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pytest

from extract.budget import RealBudget
from extract.graph import Graph, Node, OpRef, OutputMeta, TensorMeta, TensorRef
from extract.hashing import hash_graph
from extract.model_ref import ModelRef, Trace
from extract.sandbox import Limits
from storage.corpus import Corpus
from storage.query import run_query
from storage.records import trace_tables
from tasks.sandbox_pool import SandboxPool
from tasks.validate import (
    Candidate,
    GraphOutcome,
    ValidationConfig,
    ValidationSession,
    find_candidates,
    validate_shard,
)
from tests.storage.sample_traces import batch, small_trace

SCALAR = (OutputMeta((), (), (), "float32"),)
CONFIG = ValidationConfig("run", "real", fidelity=False)


def graph_of(*nodes: Node, width: int = 4) -> Graph:
    x = TensorMeta("x", "input", "x", (width,), (1,), "float32", 0.0, 1.0, stats_source="role")
    return Graph(nodes, (x,), (OpRef(len(nodes) - 1),))


def chain(width: int = 4) -> Graph:
    made = (OutputMeta((), (width,), (1,), "float32"),)
    first = Node("cos", "torch.cos", (TensorRef(0),), (), made)
    rest = [Node("sin", "torch.sin", (OpRef(index),), (), made) for index in range(4)]
    return graph_of(first, *rest, width=width)


def giant() -> Graph:
    """Its record says a scalar, the op makes 16 GiB and touches them."""
    zeros = Node("ones", "torch.ones", ((1 << 32,),), (), SCALAR)
    total = Node("sum", "torch.sum", (OpRef(0),), (), SCALAR)
    return graph_of(zeros, total, *[Node("sin", "torch.sin", (OpRef(index),), (), SCALAR) for index in (1, 2)])


def endless() -> Graph:
    """Its record says scalars, the ops multiply matrices of 4096 rows a thousand times."""
    ones = Node("ones", "torch.ones", ((4096, 4096),), (), SCALAR)
    products = [Node("matmul", "torch.matmul", (OpRef(index), OpRef(index)), (), SCALAR) for index in range(1000)]
    return graph_of(ones, *products)


def trace_of(name: str, graph: Graph) -> Trace:
    return Trace(ModelRef(f"test/{name}", "test"), graph, "function_mode", "meta", (), "2.14.1", 0.1, 0.1)


@pytest.fixture
def corpus(tmp_path: Path) -> Iterator[Corpus]:
    graphs = {"wide": chain(64), "giant": giant(), "small": chain(2), "endless": endless()}
    parts = [trace_tables(trace_of(name, graph), datetime.now(UTC)) for name, graph in graphs.items()]
    with Corpus.create(tmp_path / "corpus") as opened:
        tables = {name: pa.concat_tables([part[name] for part in parts]) for name in parts[0]}
        opened.commit(opened.stage(tables, "run"), "run")
        yield opened


@pytest.fixture
def pool() -> Iterator[SandboxPool]:
    pool = SandboxPool(1, (), Limits(seconds=6.0))
    yield pool
    pool.close()


def shard(
    session: ValidationSession, candidates: list[Candidate], config: ValidationConfig = CONFIG
) -> list[GraphOutcome]:
    report = validate_shard.fn(session, 0, candidates, config)
    session.corpus.commit(report.staged, config.run_id)
    return list(report.outcomes)


def test_the_smallest_graphs_come_first_and_only_those_that_lack_verdicts(corpus: Corpus, pool: SandboxPool) -> None:
    found = find_candidates(corpus, CONFIG)
    order = [candidate.model_id.removeprefix("test/") for candidate in found]
    assert order == ["giant", "small", "wide", "endless"]
    assert find_candidates(corpus, CONFIG, ["test/small"]) == [found[1]]
    session = ValidationSession(corpus, pool, lambda outcome: None)
    (outcome,) = shard(session, [found[1]])
    assert outcome.verdicts == (("runnable", "passed", None), ("decomposable", "passed", None))
    assert found[1] not in find_candidates(corpus, CONFIG)
    with_fidelity = find_candidates(corpus, replace(CONFIG, fidelity=True), ["test/small"])
    assert with_fidelity == [replace(found[1], missing=("fidelity",))]
    (outcome,) = shard(session, with_fidelity, replace(CONFIG, fidelity=True))
    assert outcome.verdicts == (("fidelity", "not_applicable", "unknown_model"),)
    assert not find_candidates(corpus, replace(CONFIG, fidelity=True), ["test/small"])


def test_fidelity_is_asked_of_whole_models_and_not_of_their_parts(tmp_path: Path) -> None:
    whole, part = small_trace("branching", ops=3), replace(small_trace("branching"), tracer="dynamo", part=1)
    with Corpus.create(tmp_path / "corpus") as corpus:
        corpus.commit(corpus.stage(batch([whole, part]), "run"), "run", {})
        found = find_candidates(corpus, ValidationConfig("run", "real", fidelity=True))
    asked = {candidate.signature_sha256: "fidelity" in candidate.missing for candidate in found}
    assert sorted(asked.values()) == [False, True]
    assert asked[hash_graph(whole.graph).signature_sha256]


def test_a_hang_and_a_giant_cost_their_own_rows_alone(corpus: Corpus, pool: SandboxPool) -> None:
    told: list[GraphOutcome] = []
    found = {candidate.model_id: candidate for candidate in find_candidates(corpus, CONFIG)}
    chosen = [found[f"test/{name}"] for name in ("giant", "endless", "wide")]
    outcomes = shard(ValidationSession(corpus, pool, told.append), chosen)
    assert outcomes == told
    reasons = {outcome.model_id: {reason for _, _, reason in outcome.verdicts} for outcome in outcomes}
    assert reasons == {"test/giant": {"out_of_memory"}, "test/endless": {"timeout"}, "test/wide": {None}}
    rows = corpus.read("constraints").to_pylist()
    assert {(row["level"], row["outcome"]) for row in rows} == {("real", "failed"), ("real", "passed")}
    assert len(rows) == 6
    assert not [left for left in find_candidates(corpus, CONFIG) if left in chosen]


def test_levels_stand_beside_each_other_and_the_view_gives_the_highest(corpus: Corpus, pool: SandboxPool) -> None:
    session = ValidationSession(corpus, pool, lambda outcome: None)
    for level in ("static", "fake", "real"):
        config = ValidationConfig("run", level)
        shard(session, find_candidates(corpus, config, ["test/small"]), config)
        assert not find_candidates(corpus, config, ["test/small"])
    with corpus.connect() as connection:
        both = "SELECT level FROM {} WHERE \"constraint\" = 'runnable' ORDER BY level"
        assert connection.execute(both.format("constraints")).fetchall() == [("fake",), ("real",)]
        assert connection.execute(both.format("current_constraints")).fetchall() == [("real",)]
    rows = run_query(corpus, "validation_summary", {"levels": ["static", "fake"], "model_ids": None})
    assert {row["constraint"]: row["passed"] for row in rows}["decomposable"] == 1


def test_a_verdict_left_out_for_its_cost_gives_way_to_one_of_a_larger_budget(corpus: Corpus, pool: SandboxPool) -> None:
    session = ValidationSession(corpus, pool, lambda outcome: None)
    poor = replace(CONFIG, budget=RealBudget(max_flop=10.0))
    shard(session, find_candidates(corpus, replace(CONFIG, level="fake"), ["test/wide"]), replace(CONFIG, level="fake"))
    shard(session, find_candidates(corpus, poor, ["test/wide"]), poor)
    assert not find_candidates(corpus, poor, ["test/wide"])
    query = "SELECT level, outcome FROM current_constraints WHERE \"constraint\" = 'runnable'"
    with corpus.connect() as connection:
        assert connection.execute(query).fetchall() == [("fake", "passed")]
    shard(session, find_candidates(corpus, CONFIG, ["test/wide"]))
    with corpus.connect() as connection:
        assert connection.execute(query).fetchall() == [("real", "passed")]
        assert connection.execute("SELECT count(*) FROM constraints WHERE reason = 'over_budget'").fetchone() == (0,)


def test_a_verdict_on_an_op_that_was_not_registered_gives_way_where_modules_are_imported(tmp_path: Path) -> None:
    made = (OutputMeta((), (4,), (1,), "float32"),)
    op = Node("passnet_python.twice", "torch.ops.passnet_python.twice.default", (TensorRef(0),), (), made)
    read = Node("torch.Tensor.item", "torch.Tensor.item", (TensorRef(0),), (), made)
    bare = ValidationConfig("run")
    given = replace(bare, import_modules=("tests.custom_ops.python_ops",))
    with Corpus.create(tmp_path / "corpus") as corpus:
        traces = [trace_of("op", graph_of(op)), trace_of("read", graph_of(read))]
        corpus.commit(corpus.stage(batch(traces), "run"), "run")
        for config in (bare, given):
            pool = SandboxPool(1, config.import_modules, Limits(seconds=30.0))
            shard(ValidationSession(corpus, pool, lambda outcome: None), find_candidates(corpus, config), config)
            pool.close()
            assert not find_candidates(corpus, bare)
            left = [candidate.model_id for candidate in find_candidates(corpus, given)]
            assert left == (["test/op"] if config is bare else [])
        query = "SELECT model_id, outcome, reason FROM constraints JOIN graph_sources USING (signature_sha256)"
        found = corpus.connect().execute(f"{query} WHERE \"constraint\" = 'runnable' ORDER BY ALL").fetchall()
    assert found == [("test/op", "passed", None), ("test/read", "failed", "op_not_allowed")]


def test_no_graph_is_begun_after_the_deadline(corpus: Corpus, pool: SandboxPool) -> None:
    session = ValidationSession(corpus, pool, lambda outcome: None, deadline=0.0)
    assert shard(session, find_candidates(corpus, CONFIG)) == []
