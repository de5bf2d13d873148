"""`passnet validate` gives graphs what verdicts they lack, in any number of runs, killed or not."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from pathlib import Path

import pytest

from flows.cli import run
from storage.comparison import comparable_tables
from storage.corpus import Corpus
from tests.flows.test_refresh import PASSNET, ROOT

NAMES = ("test_resnet", "test_vit", "test_nfnet")


def passnet(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    inherited = {name: value for name, value in os.environ.items() if name != "PREFECT_API_URL"}
    return subprocess.run(
        [*PASSNET, *arguments],
        cwd=ROOT,
        env={**inherited, **environment},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


@pytest.fixture(scope="module")
def refreshed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A corpus that a refresh at level real made, one graph of three run on real tensors within its limit."""
    folder = tmp_path_factory.mktemp("refreshed")
    (folder / "models.txt").write_text("\n".join(NAMES))
    arguments = ("--corpus", str(folder / "corpus"), "--models", str(folder / "models.txt"), "--workers", "2")
    done = passnet("refresh", *arguments, "--level", "real", "--real-limit", "1")
    assert done.returncode == 0, done.stderr
    assert "graphs run on real tensors now" in done.stdout and "left for another run" in done.stdout
    return folder / "corpus"


def num_real(corpus: Path) -> int:
    with Corpus.open(corpus) as opened:
        return opened.read("constraints", ["level"]).column(0).to_pylist().count("real")


@pytest.mark.slow
def test_runs_killed_or_limited_add_up_to_one_run_and_a_further_one_has_nothing_to_do(refreshed: Path) -> None:
    assert num_real(refreshed) == 3
    arguments = ("validate", "--corpus", str(refreshed), "--level", "real", "--workers", "1")
    killed = passnet(*arguments, "--limit", "1", PASSNET_FAULT="commit:before_manifest:1")
    assert killed.returncode == -signal.SIGKILL
    assert num_real(refreshed) == 3
    done = passnet(*arguments)
    assert done.returncode == 0, done.stderr
    assert "2 graphs checked now" in done.stdout
    assert "Traceback" not in done.stderr
    assert num_real(refreshed) == 9
    with Corpus.open(refreshed) as corpus:
        before = comparable_tables(corpus)["constraints"]
        assert {row["outcome"] for row in before.to_pylist() if row["level"] == "real"} == {"passed"}
    again = passnet(*arguments)
    assert "0 graphs checked now" in again.stdout
    with Corpus.open(refreshed) as corpus:
        assert comparable_tables(corpus)["constraints"] == before


def test_stats_and_show_have_the_levels_beside_each_other(
    refreshed: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "300")
    assert run(["stats", "--json", "--corpus", str(refreshed)]) == 0
    (parts,) = json.loads(capsys.readouterr().out)
    assert {(row["constraint"], row["level"]) for row in parts["verdicts"]} >= {
        ("runnable", "fake"),
        ("runnable", "real"),
        ("fidelity", "real"),
    }
    with Corpus.open(refreshed) as corpus, corpus.connect() as connection:
        query = "SELECT model_id FROM graph_sources JOIN constraints USING (signature_sha256) WHERE level = 'real'"
        model_ids = connection.execute(query).fetchall()
    assert run(["show", model_ids[0][0], "--corpus", str(refreshed)]) == 0
    shown = capsys.readouterr().out
    assert "bit-identical on 2 inputs" in shown and "fake" in shown
    assert run(["fsck", "--corpus", str(refreshed)]) == 0


def test_models_without_a_graph_are_refused_or_named(refreshed: Path, tmp_path: Path) -> None:
    (tmp_path / "list.txt").write_text("resnet18\ntest_vti\n")
    arguments = ("validate", "--corpus", str(refreshed), "--models", str(tmp_path / "list.txt"))
    refused = passnet(*arguments)
    assert (refused.returncode, refused.stdout, refused.stderr.count("\n")) == (2, "", 1)
    assert "has a graph of no model" in refused.stderr and "timm/resnet18" in refused.stderr
    (tmp_path / "list.txt").write_text("resnet18\ntest_vit\n")
    done = passnet(*arguments)
    assert done.returncode == 0, done.stderr
    assert "1 of 2 listed models have no graph, such as timm/resnet18" in done.stderr


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--level", "imaginary"], "unknown level 'imaginary'"),
        (["--models", "/nowhere/list.txt"], "/nowhere/list.txt"),
        (["--limit", "0"], "--limit"),
        (["--corpus", "/nowhere/at/all"], "/nowhere/at/all is not a corpus"),
    ],
)
def test_a_usage_error_is_one_line(refreshed: Path, options: list[str], words: str) -> None:
    corpus = [] if "--corpus" in options else ["--corpus", str(refreshed)]
    done = passnet("validate", *corpus, *options)
    assert (done.returncode, done.stdout, len(done.stderr.splitlines())) == (2, "", 1)
    assert words in done.stderr
