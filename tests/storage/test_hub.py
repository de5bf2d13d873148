"""Every call to the Hub ends: with an answer, a reason against the repository, or one line about the Hub itself."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.hub.running import BERT, repo, running_double, spec

ROOT = Path(__file__).parents[2]
# Asks for each repository of a list on its standard input and prints what came of it, a JSON line each.
SCRIPT = """
import json, sys
from pathlib import Path
from storage.errors import CorpusError
from storage.hub import Hub
from storage.hub_models import ConfigReader
from storage.hub_transport import CallLimits

asked = json.load(sys.stdin)
limits = CallLimits(**asked["limits"])
try:
    with Hub(Path(asked["cache"]), limits) as hub:
        if asked.get("query") is not None:
            for one in hub.list_repos(asked["query"], asked.get("sort"), asked.get("limit")):
                print(json.dumps([one.repo_id, one.downloads, one.licence, one.revision]))
        reader = ConfigReader(hub)
        for name in asked.get("names", ()):
            found = reader.read(name)
            failure = found.failure and [str(found.failure.reason), found.failure.detail]
            print(json.dumps([name, failure, found.config and found.config.model_class]))
except CorpusError as error:
    print(json.dumps(["ended", str(error)]))
"""
LIMITS: dict[str, Any] = {"call_seconds": 0.5, "max_attempts": 2, "first_wait_seconds": 0.05}
REPOS = [
    repo("o/good"),
    *(repo(f"o/{name}", name) for name in ("drip", "stall", "slow_headers", "half", "status_500", "huge")),
    *(repo(f"o/{name}", name) for name in ("half_once", "status_503_once", "throttled_once", "throttled_date_once")),
    *(repo(f"o/{name}", name) for name in ("gated", "no_permission", "disabled", "nonsense", "loop")),
    repo("o/moved", moved_to="o/good"),
    repo("o/empty", files={}),
    repo("o/listed-gated", gated="manual"),
    *(repo(f"many/{number:03d}", downloads=number, tags=["license:mit"]) for number in range(250)),
]


def ask(address: str, cache: Path, limits: dict[str, Any] | None = None, **asked: Any) -> list[Any]:
    """Run the script against a double and return its lines."""
    question = {"limits": {**LIMITS, **(limits or {})}, "cache": str(cache), **asked}
    environment = {
        "PATH": "/usr/bin:/bin",
        "HF_ENDPOINT": address,
        "HF_HUB_DISABLE_TELEMETRY": "1",
        "HF_HOME": str(cache),
    }
    run = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        input=json.dumps(question),
        cwd=ROOT,
        env=environment | asked.get("environment", {}),
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert run.returncode == 0, run.stderr
    return [json.loads(line) for line in run.stdout.splitlines()]


@pytest.fixture(scope="module")
def double(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path]]:
    with running_double(tmp_path_factory.mktemp("double"), spec(REPOS)) as started:
        yield started


@pytest.fixture(scope="module")
def answers(double: tuple[str, Path], tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Any, Any]]:
    names = [one["id"] for one in REPOS if one["id"].startswith("o/")] + ["o/none", "no/such/name"]
    lines = ask(double[0], tmp_path_factory.mktemp("cache"), names=names)
    return {name: (failure, found) for name, failure, found in lines}


@pytest.mark.parametrize(
    "name", ["good", "moved", "half_once", "status_503_once", "throttled_once", "throttled_date_once"]
)
def test_repository_that_can_be_read_is_read(answers: dict[str, tuple[Any, Any]], name: str) -> None:
    assert answers[f"o/{name}"] == (None, "BertModel")


@pytest.mark.parametrize(
    ("name", "reason", "words"),
    [
        ("drip", "hub_unavailable", "no whole answer within 0.5 s, 2 times"),
        ("stall", "hub_unavailable", "no whole answer within 0.5 s, 2 times"),
        ("slow_headers", "hub_unavailable", "no whole answer within 0.5 s, 2 times"),
        ("half", "hub_unavailable", "RemoteProtocolError"),
        ("status_500", "hub_unavailable", "status 500, 2 times"),
        ("nonsense", "hub_unavailable", "nonsensical"),
        ("loop", "hub_unavailable", "redirects"),
        ("huge", "config_too_large", "more than 4194304 bytes"),
        ("gated", "gated", "HF_TOKEN"),
        ("listed-gated", "gated", "HF_TOKEN"),
        ("no_permission", "gated", "403"),
        ("disabled", "repo_not_found", "disabled"),
        ("empty", "config_missing", "config.json"),
        ("none", "repo_not_found", "no such repository"),
    ],
)
def test_repository_that_cannot_be_read_has_a_reason(
    answers: dict[str, tuple[Any, Any]], name: str, reason: str, words: str
) -> None:
    failure, found = answers[f"o/{name}"]
    assert found is None
    assert failure[0] == reason
    assert words in failure[1]


def test_name_that_the_hub_would_not_take_is_not_asked_for(answers: dict[str, tuple[Any, Any]]) -> None:
    assert answers["no/such/name"][0][0] == "repo_not_found"


def test_list_follows_its_pages_and_says_what_the_hub_lists(double: tuple[str, Path], tmp_path: Path) -> None:
    lines = ask(double[0], tmp_path, query="many/")
    assert [line[0] for line in lines] == [f"many/{number:03d}" for number in range(250)]
    assert lines[7][1:3] == [7, "mit"]
    sorted_lines = ask(double[0], tmp_path, query="many/", sort="downloads", limit=120)
    assert [line[1] for line in sorted_lines] == list(range(249, 129, -1))


def test_file_is_fetched_once_for_a_commit(double: tuple[str, Path], tmp_path: Path) -> None:
    address, log = double
    sha = next(one["sha"] for one in REPOS if one["id"] == "many/000")
    for _ in range(2):
        assert ask(address, tmp_path, names=["many/000"]) == [["many/000", None, "BertModel"]]
    fetched = [line for line in log.read_text().splitlines() if f"/many/000/resolve/{sha}/config.json" in line]
    assert len(fetched) == 1
    assert (tmp_path / sha[:2] / sha / "config.json").read_text() == BERT
    assert [path.name for path in (tmp_path / sha[:2] / sha).iterdir()] == ["config.json"]


def test_nothing_but_configs_is_asked_for(double: tuple[str, Path], answers: dict[str, tuple[Any, Any]]) -> None:
    asked = [line.split('"')[1].split()[1] for line in double[1].read_text().splitlines()]
    assert {path.rsplit("/", 1)[1] for path in asked if "/resolve/" in path} == {"config.json"}


def test_storm_is_waited_out(tmp_path: Path) -> None:
    repos = [repo(f"o/{number}") for number in range(12)]
    with running_double(tmp_path, spec(repos, storm={"every": 8, "seconds": 1.0})) as (address, log):
        lines = ask(address, tmp_path / "cache", names=[one["id"] for one in repos])
    assert [failure for _, failure, _ in lines] == [None] * 12
    statuses = [line.rsplit(" ", 2)[1] for line in log.read_text().splitlines()]
    assert 1 <= statuses.count("429") <= 8  # who is told to wait waits


def test_token_that_the_hub_asks_for_opens_what_is_listed_as_gated(double: tuple[str, Path], tmp_path: Path) -> None:
    lines = ask(double[0], tmp_path, names=["o/listed-gated"], environment={"HF_TOKEN": "hf_secret"})
    assert lines == [["o/listed-gated", None, "BertModel"]]


def test_nobody_listening_ends_the_run_with_one_line(tmp_path: Path) -> None:
    lines = ask("http://127.0.0.1:9", tmp_path, names=["o/a", "o/b"])
    assert lines[-1][0] == "ended"
    assert "cannot be reached" in lines[-1][1] and "HF_ENDPOINT" in lines[-1][1]
    assert len(lines) == 1


def test_offline_mode_is_respected(tmp_path: Path) -> None:
    lines = ask("http://127.0.0.1:9", tmp_path, names=["o/a"], environment={"HF_HUB_OFFLINE": "1"})
    assert lines == [
        ["ended", "HF_HUB_OFFLINE is set, and source hub asks the Hub; unset it, or name another --source"]
    ]


def test_closing_ends_a_call_in_progress(double: tuple[str, Path]) -> None:
    import httpx2

    from storage.hub_transport import CallLimits, HubGone, HubTransport

    transport = HubTransport(CallLimits(call_seconds=60))
    sha = next(one["sha"] for one in REPOS if one["id"] == "o/stall")
    request = httpx2.Request("GET", f"{double[0]}/o/stall/resolve/{sha}/config.json")
    ended: list[BaseException] = []

    def call() -> None:
        try:
            transport.handle_request(request)
        except HubGone as error:
            ended.append(error)

    thread = threading.Thread(target=call)
    thread.start()
    time.sleep(0.5)
    transport.close()
    thread.join(10)
    assert not thread.is_alive()
    assert len(ended) == 1
