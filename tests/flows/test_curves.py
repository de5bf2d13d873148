"""`passnet curves` and `mine --kinds fusible` as people run them: killed and started again, checked, shown."""

from __future__ import annotations

import signal
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from extract.failure import Reason
from flows.cli import run
from mining.prefix import find_plateaus
from storage.comparison import comparable_tables
from storage.corpus import Corpus
from storage.fsck import fsck
from storage.records import rows_to_table
from tasks.curves import CurveJob, find_candidates
from tests.flows.test_validate import passnet
from tests.storage.sample_traces import failure
from tests.tasks.test_mine import add_graphs, some_graphs

CURVES = ("kernel_curves", "fusion_boundaries", "window_counts")
MINED = ("subgraphs", "subgraph_texts", "occurrences", "excluded_ranges", "mined_graphs")


@pytest.fixture(scope="module")
def curved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A corpus whose curves were killed before their first commit and made again; beside it `whole`, which got its
    graphs in another order, part of them later, and was never killed."""
    folder = tmp_path_factory.mktemp("curves")
    graphs = some_graphs(4)
    with Corpus.create(folder / "corpus") as corpus:
        add_graphs(corpus, graphs)
    with Corpus.create(folder / "whole") as corpus:
        add_graphs(corpus, graphs[2:], first=2)
    command = ("curves", "--target", "cuda:a30", "--workers", "1", "--corpus")
    killed = passnet(*command, str(folder / "corpus"), PASSNET_FAULT="commit:before_manifest:1")
    assert killed.returncode == -signal.SIGKILL
    first = passnet(*command, str(folder / "whole"))
    assert first.returncode == 0, first.stderr
    with Corpus.open(folder / "whole", write=True) as corpus:
        add_graphs(corpus, graphs[:2])
    for name in ("corpus", "whole"):
        done = passnet(*command, str(folder / name))
        assert done.returncode == 0, done.stderr
        assert "Traceback" not in done.stderr
        assert "0 still lack" not in done.stdout
        mined = passnet("mine", "--kinds", "fusible", "--workers", "1", "--corpus", str(folder / name))
        assert mined.returncode == 0, mined.stderr
    return folder / "corpus"


def test_a_killed_run_and_other_shards_give_the_same_tables(curved: Path) -> None:
    found: list[dict[str, object]] = []
    for path in (curved, curved.with_name("whole")):
        with Corpus.open(path) as corpus:
            tables = comparable_tables(corpus)
            found.append({name: tables[name] for name in (*CURVES, *MINED)})
            assert corpus.read("kernel_curves").num_rows == 4
            assert not fsck(corpus, deep=True)
    assert found[0] == found[1]


def test_curves_are_those_of_whole_prefixes(curved: Path) -> None:
    command = ("curves", "--target", "cuda:a30", "--exact", "--limit", "2", "--workers", "1", "--corpus")
    done = passnet(*command, str(curved))
    assert done.returncode == 0, done.stderr
    with Corpus.open(curved) as corpus:
        rows = corpus.read("kernel_curves").to_pylist()
    exact = {row["signature_sha256"]: row for row in rows if row["is_exact"]}
    assert len(exact) == 2
    for row in rows:
        if not row["is_exact"] and row["signature_sha256"] in exact:
            whole = exact[row["signature_sha256"]]
            assert row["kernels"] == whole["kernels"]
            assert whole["num_full"] == len(whole["kernels"])


def test_fusible_subgraphs_are_the_plateaus(curved: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with Corpus.open(curved) as corpus:
        rows = corpus.read("kernel_curves").to_pylist()
        places = corpus.read("occurrences").to_pylist()
    curves = {row["signature_sha256"]: row["kernels"] for row in rows if not row["is_exact"]}
    assert places
    assert {place["kind"] for place in places} == {"fusible"}
    with Corpus.open(curved) as corpus:
        by_target = corpus.connect().sql("SELECT DISTINCT target, grammar_id FROM fusible_places").fetchall()
    assert by_target == [("cuda:a30", places[0]["grammar_id"])]
    for signature, kernels in curves.items():
        found = {(place["start"], place["end"]) for place in places if place["signature_sha256"] == signature}
        assert found <= {(plateau.start, plateau.end) for plateau in find_plateaus(kernels)}
    assert run(["show", places[0]["subgraph_sha256"][:20], "--corpus", str(curved)]) == 0
    assert "fusible" in capsys.readouterr().out


def test_a_second_run_makes_nothing(curved: Path) -> None:
    done = passnet("curves", "--target", "cuda:a30", "--workers", "1", "--corpus", str(curved))
    assert done.returncode == 0, done.stderr
    assert "0 curves made now" in done.stdout


def test_what_failed_in_the_same_manner_is_not_tried_again_unasked(tmp_path: Path) -> None:
    job = CurveJob("run", "cpu")
    exact = replace(job, is_exact=True)
    with Corpus.create(tmp_path / "corpus") as corpus:
        add_graphs(corpus, some_graphs(2))
        first, second = sorted(corpus.read("graphs").column("signature_sha256").to_pylist())
        rows = [
            failure_row(first, f"{exact.manner} nothing", Reason.TIMEOUT),
            failure_row(first, "cpu (an algorithm of old): nothing", Reason.TIMEOUT),
            failure_row(first, f"{job.manner} nothing", Reason.KILLED),
            failure_row(second, f"{job.manner} nothing", Reason.TIMEOUT),
        ]
        corpus.commit(corpus.stage({"failures": rows_to_table("failures", rows)}, "run"), "run")
        found = {one.signature_sha256: one.has_failed for one in find_candidates(corpus, job)}
        assert found == {first: False, second: True}
        assert {one.signature_sha256: one.has_failed for one in find_candidates(corpus, exact)} == {
            first: True,
            second: False,
        }


def failure_row(subject: str, detail: str, reason: Reason) -> dict[str, Any]:
    (row,) = failure(subject, reason, "run").to_pylist()
    return {**row, "step": "curve", "detail": detail}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["curves", "--target", "cuda:z9"], "unknown target 'cuda:z9'; choose among cpu, cuda:a30"),
        (["curves", "--target", ","], "names nothing"),
        (
            ["mine", "--kinds", "fusible", "--target", "cuda:h100"],
            "holds no kernel curve for cuda:h100; make some: passnet",
        ),
        (["mine", "--kinds", "fusible", "--target", "cpu,cuda:a30"], "names several targets"),
        (["curves", "--models", "none.txt"], "none.txt"),
        (["curves", "--max-seconds", "inf"], "--max-seconds inf is no time to stop at"),
    ],
)
def test_bad_input_is_one_line(
    curved: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], said: str
) -> None:
    before = sorted(curved.rglob("*.json"))
    assert run([*arguments, "--corpus", str(curved)]) == 2
    error = capsys.readouterr().err
    assert said in error
    assert error.count("\n") == 1
    assert sorted(curved.rglob("*.json")) == before
