"""The worker that times a shard on a bare machine: what it needs, killed and resumed, and what it refuses."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from profiles.timing import Environment
from storage.records import program_to_bytes
from storage.timing_records import environment_from_row, timing_from_row
from tasks.profile_shard import read_outcome, write_shard
from tests.profiles.test_instance_profile import RELU, graph
from tests.tasks.test_trace_worker import FOREIGN

ROOT = Path(__file__).parents[2]
NEG = graph(("torch.neg", RELU.nodes[0].args[0]))
NAMES = ("a" * 64, "b" * 64)
WITHOUT = f"import sys; sys.modules.update(dict.fromkeys({sorted(FOREIGN)!r})); "


def worker(*arguments: str | Path, folder: Path, code: str = "") -> list[str]:
    """The command of a worker whose locks and temporary files are in a folder, some modules missing."""
    start = f"{WITHOUT}import tempfile; tempfile.tempdir = {str(folder)!r}; {code}"
    return [sys.executable, "-c", f"{start}from tasks.profile_worker import main; main()", *map(str, arguments)]


def run(*arguments: str | Path, folder: Path, code: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        worker(*arguments, folder=folder, code=code), cwd=ROOT, capture_output=True, text=True, check=False
    )


@pytest.fixture
def shard(tmp_path: Path) -> Path:
    path = tmp_path / "shard.parquet"
    programs = zip(NAMES, (RELU, NEG), strict=True)
    assert write_shard(path, ((name, program_to_bytes(program)) for name, program in programs)) == 2
    return path


def times_of(out: Path) -> dict[str, float | None]:
    rows = read_outcome(out)["timings"].to_pylist()
    assert all(timing_from_row(row).backend == "eager" for row in rows)
    assert len({row["instance_sha256"] for row in rows}) == len(rows)
    return {row["instance_sha256"]: row["latency_us"] for row in rows}


def environments_of(out: Path) -> list[Environment]:
    return [environment_from_row(row) for row in read_outcome(out)["environments"].to_pylist()]


def test_help_needs_neither_torch_nor_what_a_bare_machine_lacks(tmp_path: Path) -> None:
    done = run("--help", folder=tmp_path, code="sys.modules.update(torch=None, pyarrow=None); ")
    assert done.returncode == 0, done.stderr
    assert "OUT.parquet" in done.stdout and "--serve" not in done.stdout


def test_a_killed_shard_is_gone_on_with(tmp_path: Path, shard: Path) -> None:
    out = tmp_path / "out.parquet"
    options = ("--backends", "eager", "--device", "cpu")
    first = worker(shard, out, *options, folder=tmp_path)
    with subprocess.Popen(first, cwd=ROOT, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        for line in process.stderr:
            if line.startswith("1/2"):
                process.send_signal(signal.SIGKILL)
                break
    assert process.returncode == -signal.SIGKILL
    kept = times_of(out)
    assert set(kept) in ({NAMES[0]}, set(NAMES))  # the second is tiny: it may be there by now
    done = run(shard, out, *options, folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert f"{2 - len(kept)} of 2 instances to time on cpu:" in done.stderr
    times = times_of(out)
    assert list(times) == list(NAMES) and all(times.values())
    assert times | kept == times
    (environment,) = environments_of(out)
    assert environment.num_threads == 1 and len(environment.pinned_cpus or ()) == 1
    before = read_outcome(out)["timings"]
    again = run(shard, out, *options, folder=tmp_path)
    assert again.returncode == 0 and "0 of 2 instances to time" in again.stderr
    assert read_outcome(out)["timings"].equals(before)
    (folder,) = [path for path in tmp_path.iterdir() if path.name.startswith("passnet-inductor-")]
    assert folder  # the killed run's alone


@pytest.mark.parametrize("is_missing", [True, False])
def test_a_shard_that_is_none_is_a_line(tmp_path: Path, is_missing: bool) -> None:
    if not is_missing:
        pq.write_table(pa.table({"instance_sha256": ["a"]}), tmp_path / "shard.parquet")
    done = run(tmp_path / "shard.parquet", tmp_path / "out.parquet", folder=tmp_path)
    assert done.returncode == 2
    assert "is no shard of instances" in done.stderr and done.stderr.count("\n") == 1
    assert not (tmp_path / "out.parquet").exists()


@pytest.mark.parametrize("content", [b"junk", b"", None])
def test_an_out_that_holds_no_timings_is_a_line_and_left_alone(
    tmp_path: Path, shard: Path, content: bytes | None
) -> None:
    out = tmp_path / "out.parquet"
    if content is None:
        pq.write_table(pa.table({"latency_us": [1.0]}), out)
    else:
        out.write_bytes(content)
    before = out.read_bytes()
    done = run(shard, out, folder=tmp_path)
    assert done.returncode == 2
    assert "holds no timings" in done.stderr and done.stderr.count("\n") == 1
    assert out.read_bytes() == before


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--device", "cuda:7"], "no 'cuda:7'"),
        (["--backends", "foo"], "unknown backend 'foo'"),
    ],
)
def test_what_cannot_be_timed_on_is_a_line(tmp_path: Path, shard: Path, options: list[str], said: str) -> None:
    done = run(shard, tmp_path / "out.parquet", *options, folder=tmp_path)
    assert done.returncode == 2
    assert said in done.stderr and done.stderr.count("\n") == 1
    assert not (tmp_path / "out.parquet").exists()


@pytest.mark.parametrize(
    "options", [["--threads", "0"], ["--seconds", "0"], ["--seconds", "nan"], ["--cache", "hot"], ["--threads", "x"]]
)
def test_numbers_that_run_nothing_are_a_usage_error(tmp_path: Path, shard: Path, options: list[str]) -> None:
    done = run(shard, tmp_path / "out.parquet", *options, folder=tmp_path)
    assert done.returncode == 2
    assert options[0] in done.stderr.splitlines()[-1]
    assert "Traceback" not in done.stderr


def test_without_files_it_says_what_to_give(tmp_path: Path) -> None:
    done = run(folder=tmp_path)
    assert done.returncode == 2 and "give a shard and a file" in done.stderr
    served = run("--serve", folder=tmp_path)
    assert served.returncode == 2 and "child of a sandbox" in served.stderr


def test_a_folder_that_is_not_there_is_known_before_anything_is_timed(tmp_path: Path, shard: Path) -> None:
    done = run(shard, tmp_path / "none" / "out.parquet", "--backends", "eager", "--device", "cpu", folder=tmp_path)
    assert done.returncode == 2
    assert "cannot be written" in done.stderr and "1/2" not in done.stderr
