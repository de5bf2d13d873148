"""A refresh of the Hub traces each distinct config once, gives every id a row or a reason, and survives a kill."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from extract.failure import Reason
from flows.hub_plan import RepoChoice, choose_repos, read_repo_list
from storage.comparison import comparable_tables, differences
from storage.corpus import Corpus
from storage.errors import UsageError
from storage.fsck import fsck
from tasks.sandbox_pool import SandboxPool
from tasks.validate import ValidationConfig, _payloads, find_candidates, validate_graph
from tests.hub import make_repos
from tests.hub.running import running_double

ROOT = Path(__file__).parents[2]
PASSNET = [sys.executable, "-c", "from flows.cli import main; main()"]
NUM_CONFIGS, NUM_REPOS = 10, 70


def refresh(address: str, corpus: Path, *options: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a refresh of source hub against a double to its end."""
    left_out = ("PREFECT_API_URL", "HF_HUB_OFFLINE", "HF_TOKEN")
    inherited = {name: value for name, value in os.environ.items() if name not in left_out}
    command = [*PASSNET, "refresh", "--source", "hub", "--corpus", str(corpus), "--call-seconds", "2", *options]
    return subprocess.run(
        [*command, "--workers", "2", "--max-failed-frac", "1"],
        cwd=ROOT,
        env={**inherited, "HF_ENDPOINT": address, **environment},
        capture_output=True,
        text=True,
        timeout=1800,
    )


def check_outcomes(corpus: Path, expected: Mapping[str, Mapping[str, Any]]) -> None:
    """Every id has sources or the failure that was expected, one trace a config, and no two configs share one."""
    with Corpus.open(corpus) as opened:
        models = {row["model_id"]: row for row in opened.read("models").to_pylist()}
        sources = set(opened.read("graph_sources").column("model_id").to_pylist())
        failures = opened.read("failures").to_pylist()
        assert not fsck(opened)
    reasons = {row["subject"]: row["reason"] for row in failures}
    by_config: dict[int, set[str]] = defaultdict(set)
    assert models.keys() == {f"hub/{name}" for name in expected}
    for name, what in expected.items():
        model_id = f"hub/{name}"
        if "reason" in what:
            assert (model_id in sources, reasons.get(model_id)) == (False, what["reason"])
        else:
            assert model_id in sources, (model_id, reasons.get(model_id))
            by_config[what["config"]].add(models[model_id]["config_sha256"])
    assert all(len(hashes) == 1 for hashes in by_config.values())
    assert len(set().union(*by_config.values())) == len(by_config)
    traced = [name for name in sources if models[name]["traced_from"] is None]
    assert len(traced) == len(by_config)
    assert all(models[name]["traced_from"] in traced for name in sources if name not in traced)


def without_slow(made: dict[str, Any]) -> dict[str, Any]:
    """Leave out the repositories that cost seconds each: tests/storage/test_hub.py has them."""
    slow = {one["id"] for one in made["repos"] if one.get("behaviour") in make_repos.PERSISTENTLY_SLOW}
    made["expected"] = {name: what for name, what in made["expected"].items() if name not in slow}
    return made


@pytest.fixture(scope="module")
def hub(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, dict[str, Any], Path]]:
    folder = tmp_path_factory.mktemp("hub")
    made = without_slow(make_repos.make(NUM_REPOS, NUM_CONFIGS, len(make_repos.BROKEN) / NUM_REPOS))
    names = folder / "names.txt"
    names.write_text("\n".join(made["expected"]), encoding="utf-8")
    with running_double(folder, made) as (address, _):
        yield address, made["expected"], names


@pytest.fixture(scope="module")
def whole(hub: tuple[str, dict[str, Any], Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    corpus = tmp_path_factory.mktemp("whole") / "corpus"
    run = refresh(hub[0], corpus, "--repo-list", str(hub[2]))
    assert run.returncode == 0, run.stderr
    return corpus


def test_every_id_has_sources_or_a_reason_and_each_config_one_trace(
    whole: Path, hub: tuple[str, dict[str, Any], Path]
) -> None:
    check_outcomes(whole, hub[1])


def test_models_say_what_the_hub_lists_and_configs_can_be_built_again(whole: Path) -> None:
    with Corpus.open(whole) as corpus, corpus.connect() as connection:
        rows = connection.execute(
            "SELECT count(*), count(revision), count(downloads), count(last_modified), count(num_parameters), "
            "count(DISTINCT licence), count(*) FILTER (repairs LIKE 'adapter%') "
            "FROM models SEMI JOIN graph_sources USING (model_id)"
        ).fetchall()[0]
        unknown = connection.execute(
            "SELECT count(*) FROM models SEMI JOIN graph_sources USING (model_id) "
            "ANTI JOIN model_configs USING (config_sha256)"
        ).fetchall()[0]
        configs = connection.execute("SELECT config FROM model_configs").fetchall()
    assert rows[1] == rows[2] == rows[3] == rows[4] == rows[0]
    assert (rows[5], unknown[0], len(configs)) == (1, 0, NUM_CONFIGS)
    assert rows[6]
    assert all(json.loads(config) for (config,) in configs)


def test_fidelity_is_asked_of_a_model_that_its_stored_config_builds_again(whole: Path) -> None:
    config = ValidationConfig("run", "real", fidelity=True)
    with Corpus.open(whole) as corpus:
        candidates = find_candidates(corpus, config)
        chosen, payload = next(iter(_payloads(corpus, [one for one in candidates if one.config is not None][:1])))
    assert candidates and all(one.config is not None for one in candidates)
    pool = SandboxPool(1)
    try:
        with pool.lease() as sandbox:
            verdicts = validate_graph(pool, sandbox, replace(chosen, missing=("fidelity",)), payload, config)
    finally:
        pool.close()
    assert verdicts.column("outcome").to_pylist() == ["passed"], verdicts.to_pylist()


@pytest.mark.slow
def test_killed_run_comes_to_the_same_as_one_that_was_not(
    tmp_path: Path, whole: Path, hub: tuple[str, dict[str, Any], Path]
) -> None:
    corpus = tmp_path / "corpus"
    killed = refresh(hub[0], corpus, "--repo-list", str(hub[2]), PASSNET_FAULT="commit:before_manifest:3")
    assert killed.returncode == -signal.SIGKILL
    assert refresh(hub[0], corpus, "--repo-list", str(hub[2])).returncode == 0
    with Corpus.open(corpus) as healed, Corpus.open(whole) as uninterrupted:
        assert differences(healed, uninterrupted) == []


def test_query_finds_equal_configs_that_the_corpus_has_and_traces_nothing(
    tmp_path: Path, whole: Path, hub: tuple[str, dict[str, Any], Path]
) -> None:
    with Corpus.open(whole) as corpus:
        before = comparable_tables(corpus)
    run = refresh(hub[0], whole, "--query", "hidden/", "--sort", "downloads", "--limit", "5")
    assert run.returncode == 0, run.stderr
    with Corpus.open(whole) as corpus:
        after = comparable_tables(corpus)
    assert after["graphs"] == before["graphs"]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ([], "needs to know which repositories"),
        (["--query", "bert", "--repo-list", "x"], "either --repo-list FILE or --query TEXT"),
        (["--repo-list", "/nowhere.txt"], "there is no repository list /nowhere.txt"),
        (["--query", "bert", "--sort", "beauty"], "choose one of created_at, downloads"),
    ],
)
def test_usage_error_is_one_line_and_writes_nothing(tmp_path: Path, options: list[str], words: str) -> None:
    run = refresh("http://127.0.0.1:9", tmp_path / "corpus", *options)
    assert (run.returncode, run.stdout, len(run.stderr.splitlines())) == (2, "", 1)
    assert words in run.stderr
    assert not (tmp_path / "corpus").exists()


def test_hub_that_cannot_be_reached_is_one_line(tmp_path: Path) -> None:
    run = refresh("http://127.0.0.1:9", tmp_path / "corpus", "--query", "bert")
    assert run.returncode == 1
    assert "cannot be reached" in run.stderr.splitlines()[-1]
    assert "Traceback" not in run.stderr


def test_offline_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    run = refresh("http://127.0.0.1:9", tmp_path / "corpus", "--query", "bert", HF_HUB_OFFLINE="1")
    assert (run.returncode, len(run.stderr.splitlines())) == (2, 1)
    assert "HF_HUB_OFFLINE" in run.stderr
    assert not (tmp_path / "corpus").exists()


def test_list_of_repositories_is_read_with_and_without_the_source(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)
    path = tmp_path / "list.txt"
    path.write_text("hub/o/a\no/b # why\n\ngpt2\no/a\n", encoding="utf-8")
    assert choose_repos("hub", path, None, None, 2) == RepoChoice(("o/a", "o/b"), None, None, 2)
    assert choose_repos("timm", None, None, None, 2) is None
    path.write_text("o/a\nno such/thing\n", encoding="utf-8")
    with pytest.raises(UsageError, match="line 2"):
        read_repo_list(path)
    with pytest.raises(UsageError, match="a run of its own"):
        choose_repos("hub,timm", path, None, None, None)
    with pytest.raises(UsageError, match="both say which models"):
        choose_repos("hub", path, None, None, None, path)
    with pytest.raises(UsageError, match="--query x is for source hub"):
        choose_repos("timm", None, "x", None, None)


@pytest.mark.slow
def test_two_thousand_repositories_over_two_hundred_configs(tmp_path: Path) -> None:
    made = make_repos.make(2000, 200, 0.05) | {"storm": {"every": 500, "seconds": 1.0}}
    names = tmp_path / "names.txt"
    names.write_text("\n".join(made["expected"]), encoding="utf-8")
    reasons = {what["reason"] for what in made["expected"].values() if "reason" in what}
    assert reasons <= {reason.value for reason in Reason}
    with running_double(tmp_path, made) as (address, _):
        run = refresh(address, tmp_path / "corpus", "--repo-list", str(names))
        assert run.returncode == 0, run.stderr
        check_outcomes(tmp_path / "corpus", made["expected"])
