"""A refresh commits what it traced, can be stopped at any moment, and does what is missing when run again."""

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from storage.comparison import comparable_tables
from storage.corpus import Corpus

ROOT = Path(__file__).parents[2]
PASSNET = [sys.executable, "-c", "from flows.cli import main; main()"]
NAMES = ("test_resnet", "test_vit", "test_convnext", "test_byobnet", "test_mambaout", "test_efficientnet")
NAMES += ("test_nfnet", "test_efficientnet_ln", "timm/no_such_model")


def start(corpus: Path, *options: str, **environment: str) -> subprocess.Popen[str]:
    inherited = {name: value for name, value in os.environ.items() if name != "PREFECT_API_URL"}
    return subprocess.Popen(
        [*PASSNET, "refresh", "--corpus", str(corpus), "--workers", "2", *options],
        cwd=ROOT,
        env={**inherited, **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def finish(run: subprocess.Popen[str]) -> tuple[int, str, str]:
    out, err = run.communicate(timeout=300)
    return run.returncode, out, err


def processes_below(corpus: Path) -> list[str]:
    """Return the command lines of servers, guards and workers whose environment names this corpus's Prefect home."""
    mark, found = str(corpus / ".prefect").encode(), []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if mark in (folder / "environ").read_bytes():
                found.append((folder / "cmdline").read_text().replace("\0", " "))
        except OSError:
            continue
    return found


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("lists") / "models.txt"
    path.write_text("\n".join(NAMES))
    return str(path)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory, models: str) -> Path:
    corpus = tmp_path_factory.mktemp("whole") / "corpus"
    code, out, err = finish(start(corpus, "--models", models))
    assert (code, "Traceback" in err) == (0, False), err
    assert re.search(r"traced now +│ +8 ", out)
    assert re.search(r"failed now: unknown_model +│ +1 ", out)
    return corpus


def test_run_names_every_model_and_traces_the_good_ones(whole: Path) -> None:
    with Corpus.open(whole) as corpus:
        assert corpus.manifest().rows("models") == 9
        assert set(corpus.read("graph_sources").column("model_id").to_pylist()) == {f"timm/{n}" for n in NAMES[:-1]}
        assert corpus.read("failures").column("subject").to_pylist() == ["timm/no_such_model"]
        assert corpus.manifest().rows("constraints") == 6 * corpus.manifest().rows("graphs")
    assert (whole / "corpus.duckdb").exists()


def test_rerun_has_nothing_to_do_and_changes_nothing(whole: Path, models: str) -> None:
    with Corpus.open(whole) as corpus:
        before = corpus.manifest()
    code, out, _ = finish(start(whole, "--models", models))
    with Corpus.open(whole) as corpus:
        assert corpus.manifest() == before
    assert code == 0
    assert re.search(r"traced before +│ +8 ", out)
    assert re.search(r"failed before .* +│ +1 ", out)


def test_too_large_a_failed_share_ends_with_exit_code_1_and_a_line(whole: Path, models: str) -> None:
    code, _, err = finish(start(whole, "--models", models, "--max-failed-frac", "0.05"))
    assert code == 1
    assert "passnet: 1 of 9 models failed (11.1%), more than --max-failed-frac 0.05" in err


@pytest.mark.parametrize("number", [pytest.param(1, marks=pytest.mark.slow), 2])
def test_kill_between_shards_and_manifest_is_healed_by_a_rerun(
    tmp_path: Path, whole: Path, models: str, number: int
) -> None:
    corpus = tmp_path / "corpus"
    killed, _, _ = finish(start(corpus, "--models", models, PASSNET_FAULT=f"commit:before_manifest:{number}"))
    assert killed == -signal.SIGKILL
    assert finish(start(corpus, "--models", models))[0] == 0
    with Corpus.open(corpus) as healed, Corpus.open(whole) as uninterrupted:
        assert comparable_tables(healed) == comparable_tables(uninterrupted)


def test_ctrl_c_ends_with_130_and_one_line_and_leaves_no_process(tmp_path: Path, models: str) -> None:
    run = start(tmp_path / "corpus", "--models", models)
    assert run.stderr is not None
    lines = [run.stderr.readline(), run.stderr.readline()]
    time.sleep(2)
    run.send_signal(signal.SIGINT)
    code, _, err = finish(run)
    assert code == 130, lines
    assert err.splitlines()[-1] == "passnet: stopped; run the same command again to go on"
    assert "Traceback" not in err
    assert processes_below(tmp_path / "corpus") == []


def test_kill_leaves_no_process(tmp_path: Path, models: str) -> None:
    run = start(tmp_path / "corpus", "--models", models)
    assert run.stderr is not None
    for _ in range(2):
        run.stderr.readline()
    run.kill()
    finish(run)
    until = time.monotonic() + 10
    while processes_below(tmp_path / "corpus") and time.monotonic() < until:
        time.sleep(0.1)
    assert processes_below(tmp_path / "corpus") == []


def test_two_runs_at_once_lose_and_double_nothing(tmp_path: Path, whole: Path, models: str) -> None:
    runs = [start(tmp_path / "corpus", "--models", models) for _ in range(2)]
    ended = [finish(run) for run in runs]
    assert [code for code, _, _ in ended] == [0, 0], ended
    with Corpus.open(tmp_path / "corpus") as both, Corpus.open(whole) as alone:
        mine, theirs = comparable_tables(both), comparable_tables(alone)
    for table in mine:
        if table != "failures":
            assert mine[table] == theirs[table], table


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--models", "/nowhere/list.txt"], "/nowhere/list.txt"),
        (["--models", "/dev/null"], "names no model"),
        (["--models", sys.executable], "not text"),
        (["--source", "nowhere"], "unknown source 'nowhere'"),
        (["--limit", "0"], "--limit"),
        (["--workers", "none"], "--workers"),
    ],
)
def test_usage_error_is_one_line_and_writes_nothing(tmp_path: Path, options: list[str], words: str) -> None:
    code, out, err = finish(start(tmp_path / "corpus", *options))
    assert (code, out, len(err.splitlines())) == (2, "", 1)
    assert words in err
    assert not (tmp_path / "corpus").exists()


def test_folder_that_is_not_a_corpus_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    code, _, err = finish(start(tmp_path))
    assert (code, len(err.splitlines())) == (2, 1)
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


def test_module_is_found_in_the_working_directory(tmp_path: Path) -> None:
    registered = (ROOT / "tests" / "poison" / "odd_models.py").read_text()
    (tmp_path / "my_models.py").write_text(registered)
    (tmp_path / "list.txt").write_text("odd_agree\n")
    environment = {name: value for name, value in os.environ.items() if name != "PREFECT_API_URL"}
    options = ["refresh", "--corpus", "corpus", "--models", "list.txt", "--import", "my_models"]
    code = f"import sys; sys.path.append({str(ROOT)!r}); from flows.cli import main; main()"
    done = subprocess.run(
        [sys.executable, "-P", "-c", code, *options],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    with Corpus.open(tmp_path / "corpus") as corpus:
        assert corpus.traced_models() == {"timm/odd_agree"}


def test_module_that_cannot_be_imported_is_one_line(tmp_path: Path, models: str) -> None:
    code, _, err = finish(start(tmp_path / "corpus", "--models", models, "--import", "no_such_module"))
    assert (code, err.count("\n")) == (2, 1)
    assert err.startswith("passnet: --import no_such_module fails")
    assert "cannot import no_such_module: ModuleNotFoundError" in err and "Traceback" not in err
    assert not (tmp_path / "corpus").exists()
