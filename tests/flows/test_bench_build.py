"""`passnet bench` as people run it: built, killed and built again, shown; what it refuses."""

from __future__ import annotations

import shutil
import signal
from pathlib import Path
from typing import Any

import pytest

from flows.cli import run
from passbench.instance_check import CHECK_ALGORITHM
from storage.corpus import Corpus
from storage.dedup import same_rows
from storage.fsck import fsck
from storage.query import run_query
from storage.records import rows_to_table
from tests.flows.test_validate import passnet
from tests.storage.generalized_corpus import make_generalized

TABLES = ("bench_tasks", "bench_members", "bench_builds", "bench_selections", "bench_leakage", "bench_dropped")


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A corpus whose first build was killed before its first commit."""
    path = tmp_path_factory.mktemp("bench") / "corpus"
    make_generalized(path)
    command = ("bench", "build", "--workers", "1", "--corpus", str(path))
    killed = passnet(*command, PASSNET_FAULT="commit:before_manifest:1")
    assert killed.returncode == -signal.SIGKILL
    with Corpus.open(path) as corpus:
        assert not corpus.manifest().rows("bench_tasks")
    done = passnet(*command)
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    assert "tasks in" in done.stdout
    return path


def test_a_build_keeps_all_that_it_says_it_made(built: Path) -> None:
    with Corpus.open(built) as corpus:
        tables: dict[str, list[dict[str, Any]]] = {name: corpus.read(name).to_pylist() for name in TABLES}
        assert all(tables[name] for name in ("bench_tasks", "bench_members", "bench_builds", "bench_selections"))
        assert len(tables["bench_tasks"]) + len(tables["bench_dropped"]) == tables["bench_builds"][0]["num_groups"]
        assert not [finding for finding in fsck(corpus, deep=True) if finding.subject.startswith("bench")]
        losses = run_query(corpus, "bench_losses")
        assert sum(row["num_dropped"] for row in losses) == len(tables["bench_dropped"])
        for row in run_query(corpus, "bench_floors"):
            assert row["num_checked"] > 0


def test_what_makes_no_task_was_run_and_is_none(built: Path) -> None:
    with Corpus.open(built) as corpus, corpus.connect() as connection:
        bad = connection.execute("SELECT count(*) FROM bench_checks WHERE reason IS NOT NULL").fetchone()
        bad_forms = (
            "SELECT structure_sha256, dtype FROM instances JOIN bench_checks USING (instance_sha256) "
            "WHERE reason IS NOT NULL"
        )
        among = connection.execute(
            "SELECT count(*) FROM bench_members JOIN instances USING (instance_sha256) "
            f"SEMI JOIN ({bad_forms}) USING (structure_sha256, dtype)"
        ).fetchone()
        slow = connection.execute("SELECT count(*) FROM bench_checks WHERE num_draws <> 5").fetchone()
    assert bad is not None
    assert (among, slow) == ((0,), (0,))


def test_a_build_again_changes_nothing_and_runs_nothing(built: Path) -> None:
    with Corpus.open(built) as corpus:
        before = corpus.manifest().number
    again = passnet("bench", "build", "--corpus", str(built))
    assert again.returncode == 0, again.stderr
    with Corpus.open(built) as corpus:
        assert corpus.manifest().number == before


def time_out(corpus: Path, seconds: float) -> None:
    """Make of each instance one that ran out of time."""
    with Corpus.open(corpus, write=True) as opened:
        names = sorted(set(opened.read("instances", ["instance_sha256"]).column(0).to_pylist()))
        own = {"algorithm": CHECK_ALGORITHM, "num_draws": 5, "reason": "timeout"}
        own |= {"detail": f"no reply within {seconds:g} s", "seconds": seconds}
        rows = [{"instance_sha256": name, **own} for name in names]
        opened.replace({"bench_checks": rows_to_table("bench_checks", rows)}, "timeouts")


def test_a_build_of_no_task_does_not_take_the_place_of_one_that_has_some(built: Path, tmp_path: Path) -> None:
    """A time-out at the present limit stands; one that had less time is run again, and its check stands then."""
    corpus = tmp_path / "corpus"
    shutil.copytree(built, corpus)
    time_out(corpus, 300.0)
    with Corpus.open(corpus) as opened:
        before = opened.manifest().number
    refused = passnet("bench", "build", "--workers", "1", "--corpus", str(corpus))
    assert (refused.returncode, refused.stdout) == (2, "")
    said = refused.stderr.splitlines()[-1]
    assert "groups is a task" in said and "timeout" in said and "of the former build stay" in said
    with Corpus.open(corpus) as opened:
        assert opened.manifest().number == before

    time_out(corpus, 299.0)
    again = passnet("bench", "build", "--workers", "1", "--corpus", str(corpus))
    assert again.returncode == 0, again.stderr
    assert "failed" not in again.stderr or " 0 failed" in again.stderr
    with Corpus.open(corpus) as opened, Corpus.open(built) as former:
        for table in TABLES:
            assert same_rows(table, opened.read(table), former.read(table)), table
        checks = opened.read("bench_checks").to_pylist()
        run = [row for row in checks if row["reason"] != "timeout"]
        assert {row["instance_sha256"] for row in run} == {
            row["instance_sha256"] for row in former.read("bench_checks").to_pylist()
        }


def test_without_a_former_build_one_of_no_task_is_kept_and_says_why(built: Path, tmp_path: Path) -> None:
    corpus = tmp_path / "corpus"
    shutil.copytree(built, corpus)
    with Corpus.open(corpus, write=True) as opened:
        opened.replace({name: opened.read(name).slice(0, 0) for name in TABLES}, "no-build")
    time_out(corpus, 300.0)
    done = passnet("bench", "build", "--corpus", str(corpus))
    assert done.returncode == 0, done.stderr
    assert "warning: none of the" in done.stdout
    assert "warning: fusible: 0 of 200 evaluation tasks asked for" in done.stdout
    for command in (["show", "a"], ["stats"]):
        shown = passnet("bench", *command, "--corpus", str(corpus))
        (line,) = shown.stderr.splitlines()
        assert shown.returncode == 2
        assert "the build has no task" in line and "timeout" in line and "--check-seconds" in line


def test_headings_of_stats_are_one_line_at_120_columns(
    built: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "120")
    assert run(["bench", "stats", "--corpus", str(built)]) == 0
    lines = capsys.readouterr().out.splitlines()
    rules = [
        number for number, line in enumerate(lines) if line.strip().startswith("\N{BOX DRAWINGS LIGHT HORIZONTAL}")
    ]
    assert len(rules) > 5
    assert all(not lines[number - 2].strip() for number in rules)
    assert max(map(len, lines)) <= 120


def test_stats_are_shown_and_drawn(built: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    picture = tmp_path / "tasks.png"
    assert run(["bench", "stats", "--corpus", str(built), "--plot", str(picture)]) == 0
    shown = capsys.readouterr().out
    assert "paper" in shown
    assert "hmm" in shown
    assert picture.stat().st_size > 10_000
    assert run(["bench", "stats", "--corpus", str(built), "--json"]) == 0
    assert '"splits"' in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--sigma", "0"], "--sigma 0 is out of range"),
        (["--num-selected", "0"], "--num-selected 0 is out of range"),
        (["--method", "best"], "unknown selection 'best'"),
        (["--seed", "-1"], "--seed -1 is out of range"),
        (["--check-seconds", "nan"], "--check-seconds nan is no time"),
        (["--base", "99999"], "has no manifest 99999"),
        (["--base", "1"], "--base 1 has no bench tasks"),
        (["--base", "nowhere"], "--base nowhere: nowhere is not a corpus"),
        (["--base", ""], "--base is empty"),
    ],
)
def test_what_cannot_be_built_is_refused_in_one_line(
    built: Path, arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    before = sorted(built.rglob("*.json"))
    assert run(["bench", "build", "--corpus", str(built), *arguments]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert said in line
    assert sorted(built.rglob("*.json")) == before


def test_a_corpus_without_instances_or_tasks_says_what_to_do(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Corpus.create(tmp_path / "empty").close()
    for command, remedy in (("build", "passnet generalize"), ("stats", "passnet bench build")):
        assert run(["bench", command, "--corpus", str(tmp_path / "empty")]) == 2
        assert remedy in capsys.readouterr().err
