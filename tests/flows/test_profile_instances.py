"""`passnet profile` as people run it: killed and started again, on a machine without a corpus, refused, reported."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from flows.cli import run
from profiles.timing import Status, Timing
from storage.corpus import Corpus
from storage.fsck import fsck
from storage.timing_records import timing_tables
from tasks.profile_shard import write_outcome
from tests.flows.test_refresh import ROOT
from tests.flows.test_validate import passnet
from tests.storage.generalized_corpus import make_generalized, rows_of

ON_CPU = ("--device", "cpu", "--backends", "eager")
KEPT = "instance_sha256, backend, device_id, environment_sha256, cache, status, mutates_inputs"


def profile(corpus: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run the command with locks of its own, beside other runs of this machine."""
    return passnet("profile", "--corpus", str(corpus), *arguments, TMPDIR=str(corpus.parent), **environment)


def timings(corpus: Path, columns: str = "instance_sha256") -> list[tuple[Any, ...]]:
    with Corpus.open(corpus) as opened:
        return rows_of(opened, f"SELECT {columns} FROM timings ORDER BY ALL")


def manifests(corpus: Path) -> Sequence[Path]:
    return sorted((corpus / "manifests").iterdir())


@pytest.fixture(scope="module")
def timed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A corpus of which two instances were timed in eager mode, by a run that was killed before its commit, again."""
    path = tmp_path_factory.mktemp("profile") / "corpus"
    make_generalized(path).close()
    killed = profile(path, *ON_CPU, "--limit", "2", PASSNET_FAULT="commit:before_manifest:1")
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    assert not timings(path)
    done = profile(path, *ON_CPU, "--limit", "2")
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    assert "2 instances timed now" in done.stdout and "are left" in done.stdout
    return path


@pytest.fixture(scope="module")
def chosen(timed: Path) -> Path:
    """A file that names the instances that were timed."""
    path = timed.with_name("chosen.txt")
    path.write_text("# timed\n" + "\n".join(name for (name,) in timings(timed)) + "\n")
    return path


def test_a_killed_run_loses_and_doubles_nothing(timed: Path) -> None:
    rows = timings(timed, "instance_sha256, status, latency_us > 0, repeats >= 20, run_id")
    assert len({name for name, *_ in rows}) == len(rows) == 2
    assert [row[1:4] for row in rows] == [("ok", True, True)] * 2
    assert len({row[4] for row in rows}) == 1
    with Corpus.open(timed) as corpus:
        assert not fsck(corpus, deep=True)
        assert rows_of(corpus, "SELECT count(*) FROM environments") == [(1,)]
        assert rows_of(corpus, "SELECT count(*) FROM profile_runs") == [(1,)]
        kinds = rows_of(corpus, "SELECT DISTINCT dtype FROM instances JOIN timings USING (instance_sha256)")
        assert len(kinds) == 2  # dtypes take turns


def test_a_second_run_times_nothing_and_with_again_all(timed: Path, chosen: Path) -> None:
    before = timings(timed, KEPT)
    done = profile(timed, *ON_CPU, "--limit", "2")  # the same draw
    assert done.returncode == 0, done.stderr
    assert "0 instances timed now" in done.stdout
    assert timings(timed, KEPT) == before
    again = profile(timed, *ON_CPU, "--instances", str(chosen), "--again")
    assert "2 instances timed now" in again.stdout, again.stderr
    assert timings(timed, f"DISTINCT {KEPT}") == before and len(timings(timed)) == 4


def test_a_machine_without_a_corpus_times_the_same(timed: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shard, out = timed.with_name("shard.parquet"), timed.with_name("out.parquet")
    before = timings(timed, f"DISTINCT {KEPT}"), len(timings(timed))
    common = ["profile", "--corpus", str(timed)]
    written = manifests(timed)
    assert run([*common, "--limit", "2", "--write-shard", str(shard)]) == 0
    assert "2 instances written" in capsys.readouterr().out
    assert manifests(timed) == written
    worker = f"import tempfile; tempfile.tempdir = {str(timed.parent)!r}; from tasks.profile_worker import main; main()"
    command = [sys.executable, "-c", worker, str(shard), str(out), *ON_CPU]
    done = subprocess.run(command, cwd=ROOT, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    for said in ("2 of 2 timings taken in", "0 of 2 timings taken in"):
        assert run([*common, "--take", str(out)]) == 0
        assert said in capsys.readouterr().out
        assert timings(timed, f"DISTINCT {KEPT}") == before[0]
        assert len(timings(timed)) == before[1] + 2
    with Corpus.open(timed) as corpus:
        assert not fsck(corpus, deep=True)
        assert rows_of(corpus, "SELECT count(*) FROM environments") == [(1,)]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        pytest.param(["--device", "cuda:7"], "cuda:7", marks=pytest.mark.slow),
        (["--device", "cpu", "--backends", "foo"], "unknown backend 'foo'"),
    ],
)
def test_a_device_or_backend_that_is_not_to_be_had_is_one_line(timed: Path, arguments: list[str], said: str) -> None:
    written = manifests(timed)
    done = profile(timed, *arguments, "--limit", "1")
    assert done.returncode == 2, done.stderr
    (error,) = [line for line in done.stderr.splitlines() if line.startswith("passnet:")]  # after how far it came
    assert said in error and done.stderr.splitlines()[-1] == error, done.stderr
    assert manifests(timed) == written


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--backends", ","], "--backends ',' names nothing"),
        (["--cache", "hot"], "--cache 'hot'"),
        (["--threads", "0"], "--threads 0"),
        (["--threads", "9999"], "--threads 9999"),
        (["--seconds", "0"], "--seconds 0"),
        (["--seconds", "nan"], "--seconds nan"),
        (["--seconds", "inf"], "--seconds inf"),
        (["--dtypes", "int8"], "unknown 'int8'"),
        (["--dtypes", ""], "names nothing"),
        (["--kinds", "x"], "'x'"),
        (["--limit", "0"], "--limit"),
        (["--limit", "9" * 26], "--limit"),
        (["--seed", "-1"], "--seed"),
        (["--seed", "9" * 26], "--seed"),
        (["--max-bytes", "0"], "--max-bytes"),
        (["--max-bytes", "9" * 26], "--max-bytes"),
        (["--instances", "JUNK"], "which is no hash of an instance"),
        (["--instances", "EMPTY"], "names no instance"),
        (["--instances", "NONE"], "cannot be read"),
        (["--models", "NONE"], "NONE"),
        (["--take", "JUNK"], "holds no timings"),
        (["--take", "NONE"], "holds no timings"),
        (["--write-shard", "NONE/shard.parquet"], "cannot be written"),
        (["--write-shard", "a.parquet", "--take", "b.parquet"], "two errands"),
    ],
)
def test_bad_input_is_one_line(
    timed: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], said: str
) -> None:
    (tmp_path / "JUNK").write_text("deadbeef\n")
    (tmp_path / "EMPTY").write_text("# nothing\n\n")
    is_path = arguments[0] in ("--instances", "--models", "--take", "--write-shard")
    given = [str(tmp_path / word) if is_path and not word.startswith("-") else word for word in arguments]
    written, files = manifests(timed), sorted(tmp_path.iterdir())
    assert run(["profile", "--corpus", str(timed), *given]) == 2
    error = capsys.readouterr().err
    assert said in error
    assert error.count("\n") == 1, error
    assert (manifests(timed), sorted(tmp_path.iterdir())) == (written, files)


def test_timings_of_instances_that_the_corpus_lacks_are_refused(
    timed: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    foreign = Timing(
        instance_sha256="f" * 64,
        backend="eager",
        device_id="cpu:other",
        environment_sha256="e" * 64,
        run_id="run",
        cache="cold",
        status=Status.OK,
        seconds=0.0,
    )
    write_outcome(tmp_path / "out.parquet", timing_tables([foreign]))
    written = manifests(timed)
    assert run(["profile", "--corpus", str(timed), "--take", str(tmp_path / "out.parquet")]) == 2
    error = capsys.readouterr().err
    assert "does not hold (ffffffffffff)" in error and error.count("\n") == 1
    assert manifests(timed) == written


def test_a_corpus_without_instances_says_what_to_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with Corpus.create(tmp_path / "empty"):
        pass
    assert run(["profile", "--corpus", str(tmp_path / "empty")]) == 2
    assert "passnet generalize" in capsys.readouterr().err


@pytest.mark.slow
def test_inductor_beside_eager_is_timed_compared_and_reported(timed: Path, tmp_path: Path) -> None:
    done = profile(timed, "--device", "cpu", "--limit", "1", "--dtypes", "float32")
    assert done.returncode == 0, done.stderr
    rows = timings(timed, "backend, status, compile_s > 0, num_kernels, recompiles, tolerance_level IS NOT NULL")
    (row,) = [row for row in rows if row[0] == "inductor"]
    assert row[1] == "ok", row
    assert row[2] and row[3] is not None and row[4] == 0 and row[5], row
    report = passnet("report", "profile", "--corpus", str(timed), "--out", str(tmp_path / "report.html"))
    assert report.returncode == 0, report.stderr
