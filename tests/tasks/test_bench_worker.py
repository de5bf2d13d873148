"""Children that check instances: what a program does to one is its row, and the rest of the shard is checked."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from extract.graph import Graph, Node, OpRef, OutputMeta, TensorMeta, TensorRef
from extract.hashing import signature_sha256
from extract.model_ref import ModelRef, Trace
from extract.sandbox import Limits
from flows.bench_checking import read_checks
from mining.generalization import Generalizer, Traced
from mining.instance import Variant
from passbench.checking import check_instance
from passbench.instance_check import CHECK_ALGORITHM, NUM_DRAWS
from storage.corpus import Corpus
from storage.instance_records import generalization_row, instance_row
from storage.records import program_to_bytes, rows_to_table
from tasks.bench_checks import CheckJob, CheckSession, check_shard, commit_checks, seed_of
from tasks.bench_worker import answer
from tasks.sandbox_pool import SandboxPool
from tests.storage.sample_traces import batch
from tests.tasks.test_trace_worker import FOREIGN

ROOT = Path(__file__).parents[2]
WORKER = [sys.executable, "-m", "tasks.bench_worker"]
SECONDS = 8.0


def chain(target: str, *rest: Any, num_calls: int = 1, meta: TensorMeta, **named: Any) -> Graph:
    """Calls one after the other, each of the operand (or of what the last returned) and `rest`."""
    op, outputs = target.rpartition(".")[2], (OutputMeta((), meta.shape, meta.stride, meta.dtype),)
    firsts = [TensorRef(0), *map(OpRef, range(num_calls - 1))]
    nodes = tuple([Node(op, target, (first, *rest), tuple(named.items()), outputs) for first in firsts])
    return Graph(nodes, (meta,), (OpRef(num_calls - 1),))


SMALL = TensorMeta("x", "input", "x", (4, 4), (4, 1), "float32")
LARGE = TensorMeta("x", "input", "x", (2500, 2500), (2500, 1), "float32")
WHOLE = TensorMeta("x", "input", "x", (2,), (1,), "int64", min=-(2.0**63), max=1.0, values=(-(2**63), 1))
PROGRAMS = {
    "dies": chain("torch.div", -1, meta=WHOLE, rounding_mode="trunc"),  # SIGFPE: the quotient is no int64
    "hangs": chain("torch.matmul", TensorRef(0), num_calls=60, meta=LARGE),  # a third of a second each
    "task": chain("torch.sigmoid", meta=SMALL),
    "identity": chain("torch.mul", 1.0, meta=SMALL),
}


def store(corpus: Corpus, name: str, graph: Graph) -> str:
    """Store a graph, and the whole of it as a subgraph with one instance; return the instance."""
    model, signature = f"timm/{name}", signature_sha256(graph)
    trace = Trace(ModelRef(model, "timm", family=name), graph, "function_mode", "meta", (), "2.14.1", 0.1, 0.1)
    found = Generalizer([Traced(Variant(model, signature, 0, "float32", {}), graph)], []).generalize(
        0, len(graph.nodes)
    )
    rows = {
        "instances": [instance_row(found.instances[0], 64, 16.0)],
        "generalizations": [generalization_row(found, model, signature, 1, 0)],
    }
    tables = batch([trace]) | {table: rows_to_table(table, made) for table, made in rows.items()}
    corpus.commit(corpus.stage(tables, name), name)
    return found.instances[0].instance.instance_sha256


@pytest.fixture
def corpus(tmp_path: Path) -> Iterator[Corpus]:
    with Corpus.create(tmp_path / "corpus") as opened:
        yield opened


def test_what_ends_or_holds_a_child_is_a_row_and_the_rest_of_the_shard_is_checked(corpus: Corpus) -> None:
    names = {name: store(corpus, name, graph) for name, graph in PROGRAMS.items()}
    bare = corpus.read("instances").to_pylist()[0] | {"instance_sha256": "e" * 64, "subgraph_sha256": "f" * 64}
    corpus.commit(corpus.stage({"instances": rows_to_table("instances", [bare])}, "bare"), "bare")
    shard = [*names.values(), "e" * 64, "0" * 64]
    told: list[tuple[str, bool]] = []
    pool = SandboxPool(1, limits=Limits(seconds=SECONDS), worker="tasks.bench_worker")
    session = CheckSession(corpus, pool, CheckJob("check", SECONDS), lambda *said: told.append(said))
    try:
        report = check_shard.fn(session, 0, shard)
    finally:
        pool.close()
    assert read_checks(corpus, SECONDS) == ({}, set())
    commit_checks.fn(session, [report])
    known, hasty = read_checks(corpus, SECONDS)
    assert (known.keys(), hasty) == (set(shard), set())
    known, hasty = read_checks(corpus, SECONDS + 0.1)
    assert hasty == {names["hangs"]} == set(shard) - known.keys()
    known, hasty = read_checks(corpus, SECONDS, retry_failed=True)
    assert (set(shard) - known.keys(), hasty) == ({names["hangs"]}, set())
    assert (report.num_checked, report.num_degenerate) == (6, 5)
    rows = {row["instance_sha256"]: row for row in corpus.read("bench_checks").to_pylist()}
    assert [rows[name]["reason"] for name in shard] == ["crashed", "timeout", None, "identity", "raises", "raises"]
    said = [rows[name]["detail"] for name in shard]
    assert "SIGFPE" in said[0] and "no reply within 8 s" in said[1] and said[2:4] == [None, None]
    assert "cannot be rendered" in said[4] and "no row of instances" in said[5]
    assert rows[names["identity"]]["identity_level"] == -10
    failed = {name for name in shard if rows[name]["reason"] in ("crashed", "timeout", "raises")}
    assert told == [(name[:12], name in failed) for name in shard]
    for row in rows.values():
        assert (row["algorithm"], row["num_draws"]) == (CHECK_ALGORITHM, NUM_DRAWS)
        assert row["seconds"] == SECONDS if row["reason"] == "timeout" else row["seconds"] >= 0
        assert "\n" not in (row["detail"] or "")


def test_a_child_answers_what_a_check_here_finds() -> None:
    header = {"do": "check", "seed": seed_of("0000000a" + "f" * 56), "num_draws": 2}
    assert header["seed"] == 10
    for name in ("task", "identity"):
        reply, _ = answer(header, program_to_bytes(PROGRAMS[name]))
        found = check_instance(PROGRAMS[name], 10, 2)
        assert reply["check"] == {field: getattr(found, field) for field in found.__slots__}
        assert reply["seconds"] > 0
    reply, _ = answer(header, b"no program")
    assert reply["check"]["reason"] == "raises" and reply["check"]["detail"]


def test_the_worker_starts_where_a_bare_machine_lacks_the_rest() -> None:
    code = (
        f"import sys; sys.modules.update(dict.fromkeys({sorted(FOREIGN)!r}));"
        "import tasks.bench_worker as w; w.prepare(); print('ready')"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True, capture_output=True, text=True)
    assert done.stdout.strip() == "ready"


def test_a_worker_without_a_sandbox_says_what_to_start() -> None:
    done = subprocess.run(WORKER, cwd=ROOT, check=False, capture_output=True, text=True)
    assert done.returncode == 2
    assert "passnet bench build" in done.stderr
