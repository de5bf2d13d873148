"""`passnet generalize` as people run it: killed and started again, a graph whose model is gone, checked, shown."""

from __future__ import annotations

import signal
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pytest

from extract.cut import Cutter
from extract.model_tracing import trace_model
from flows.cli import run
from mining.instance import render
from storage.comparison import comparable_tables
from storage.corpus import Corpus
from storage.fsck import fsck
from storage.instance_records import instance_from_row
from storage.payloads import graph_payloads
from storage.records import graph_from_payload, trace_tables
from tests.flows.test_validate import passnet

MODELS = ("timm/test_vit", "timm/test_vit2")
MADE = ("variants", "generalizations", "instances", "missing_instances")


def corpus_at(path: Path, models: tuple[str, ...]) -> None:
    """Trace and mine models; `passnet mine` learns from all that is there, so that both corpora have one grammar."""
    with Corpus.create(path) as corpus:
        for model_id in models:
            corpus.commit(corpus.stage(trace_tables(trace_model(model_id), datetime.now(UTC)), "run"), "run")
    mined = passnet("mine", "--kinds", "classical,single_op", "--workers", "1", "--corpus", str(path))
    assert mined.returncode == 0, mined.stderr


@pytest.fixture(scope="module")
def generalized(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A corpus that was killed before its first commit; beside it `whole`, which was not, by one graph and the rest."""
    folder = tmp_path_factory.mktemp("generalize")
    for name, models in (("corpus", MODELS), ("whole", MODELS[::-1])):
        corpus_at(folder / name, models)
    command = ("generalize", "--workers", "1", "--corpus")
    killed = passnet(*command, str(folder / "corpus"), PASSNET_FAULT="commit:before_manifest:1")
    assert killed.returncode == -signal.SIGKILL
    one = passnet(*command, str(folder / "whole"), "--limit", "1")
    assert one.returncode == 0, one.stderr
    assert "1 graph left" in one.stdout
    for name in ("corpus", "whole"):
        done = passnet(*command, str(folder / name))
        assert done.returncode == 0, done.stderr
        assert "Traceback" not in done.stderr
    return folder / "corpus"


def test_a_killed_run_and_other_shards_give_the_same_tables(generalized: Path) -> None:
    found: list[dict[str, object]] = []
    for path in (generalized, generalized.with_name("whole")):
        with Corpus.open(path) as corpus:
            tables = comparable_tables(corpus)
            found.append({name: tables[name] for name in MADE})
            assert not fsck(corpus, deep=True)
    assert found[0] == found[1]


def test_every_subgraph_has_all_its_shapes_and_dtypes_or_reasons(generalized: Path) -> None:
    with Corpus.open(generalized) as corpus, corpus.connect() as connection:
        mined = connection.execute("SELECT count(DISTINCT subgraph_sha256) FROM subgraphs").fetchone()
        rows = connection.execute("SELECT subgraph_sha256, num_instances + num_missing FROM generalizations").fetchall()
        assert mined == (len(rows),)
        assert {total for _, total in rows} == {30}
        counted = connection.execute(
            "SELECT *, count(*) FROM (SELECT subgraph_sha256, shape_config, dtype FROM instances UNION ALL "
            "SELECT subgraph_sha256, shape_config, dtype FROM missing_instances) GROUP BY ALL HAVING count(*) > 1"
        ).fetchall()
        assert not counted


def test_recipes_render_from_stored_rows(generalized: Path) -> None:
    with Corpus.open(generalized) as corpus:
        bases = {row["subgraph_sha256"]: row for row in corpus.read("generalizations").to_pylist()}
        rows = corpus.read("instances").to_pylist()
        variants = corpus.read("variants").to_pylist()
        signatures = sorted({row["signature_sha256"] for row in bases.values()})
        graphs = {name: graph_from_payload(payload) for name, payload in graph_payloads(corpus, signatures)}
    sizes = {(row["model_id"], row["shape_config"], row["dtype"]): row["sizes"] for row in variants}
    assert rows
    for row in rows[::7]:
        base = bases[row["subgraph_sha256"]]
        cut = Cutter(graphs[base["signature_sha256"]]).cut(base["start"], base["end"]).graph
        own = sizes[row["model_id"], row["shape_config"], row["dtype"]]
        instance = instance_from_row(row, base["start"], {axis: size for axis, size in own.items() if size is not None})
        render(cut, instance)  # raises where the hash is another


def test_a_second_run_makes_nothing(generalized: Path) -> None:
    done = passnet("generalize", "--workers", "1", "--corpus", str(generalized))
    assert done.returncode == 0, done.stderr
    assert "0 instances of 0 subgraphs made now" in done.stdout


@pytest.mark.slow
def test_bounds_that_leave_a_model_out_are_for_one_run(tmp_path: Path) -> None:
    path = tmp_path / "corpus"
    corpus_at(path, MODELS[:1])
    command = ("generalize", "--workers", "1", "--corpus", str(path))
    for bound in (("--max-params", "10"), ("--model-seconds", "0.001")):
        left_out = passnet(*command, *bound)
        assert left_out.returncode == 0, left_out.stderr
        assert "of 0 subgraphs" in left_out.stdout and "1 graph failed" in left_out.stdout
    again = passnet(*command)
    assert "of 0 subgraphs" in again.stdout and "subgraphs have none" in again.stdout
    retried = passnet(*command, "--retry-failed")
    assert "of 0 subgraphs" not in retried.stdout, retried.stdout
    with Corpus.open(path) as corpus:
        assert "timeout" not in set(corpus.read("missing_instances").column("reason").to_pylist())


@pytest.mark.slow
def test_a_model_that_is_gone_gives_way_to_the_next_that_has_the_graph(tmp_path: Path) -> None:
    path = tmp_path / "corpus"
    tables = trace_tables(trace_model("timm/test_vit"), datetime.now(UTC))
    with Corpus.create(path) as corpus:
        corpus.commit(corpus.stage(tables, "run"), "run")
        gone = {name: renamed(tables[name], "timm/no_such_model") for name in ("models", "graph_sources")}
        corpus.commit(corpus.stage(gone, "gone"), "gone")
    assert passnet("mine", "--kinds", "classical", "--workers", "1", "--corpus", str(path)).returncode == 0
    done = passnet("generalize", "--workers", "1", "--corpus", str(path))
    assert done.returncode == 0, done.stderr
    assert "1 graph failed" in done.stdout
    with Corpus.open(path) as corpus:
        (failure,) = corpus.read("failures").to_pylist()
        assert (failure["step"], failure["reason"]) == ("generalize", "unknown_model")
        assert set(corpus.read("generalizations").column("model_id").to_pylist()) == {"timm/test_vit"}


def renamed(table: pa.Table, model_id: str) -> pa.Table:
    position = table.column_names.index("model_id")
    return table.set_column(position, table.schema.field(position), pa.array([model_id] * table.num_rows))


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["generalize", "--max-bytes", "0"], "--max-bytes 0 leaves no instance"),
        (["generalize", "--model-seconds", "-1"], "--model-seconds -1"),
        (["generalize", "--model-seconds", "nan"], "--model-seconds nan"),
        (["generalize", "--model-seconds", "inf"], "--model-seconds inf"),
        (["generalize", "--max-bytes", "9" * 26], "is too large"),
        (["generalize", "--max-params", "9" * 26], "is too large"),
        (["generalize", "--models", "none.txt"], "none.txt"),
        (["generalize", "--kinds", "fusible"], "has no subgraphs of --kinds fusible"),
    ],
)
def test_bad_input_is_one_line(
    generalized: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], said: str
) -> None:
    before = sorted(generalized.rglob("*.json"))
    assert run([*arguments, "--corpus", str(generalized)]) == 2
    error = capsys.readouterr().err
    assert said in error
    assert error.count("\n") == 1
    assert sorted(generalized.rglob("*.json")) == before


def test_a_corpus_without_subgraphs_says_what_to_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with Corpus.create(tmp_path / "empty"):
        pass
    assert run(["generalize", "--corpus", str(tmp_path / "empty")]) == 2
    assert "passnet mine" in capsys.readouterr().err
