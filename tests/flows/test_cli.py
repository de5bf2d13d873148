"""The command line: one line per error, the right exit code, and nothing loaded that a reader does not need."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import duckdb
import pytest

from flows.cli import run
from storage.corpus import Corpus
from storage.query import stopping
from tests.storage.sample_traces import batch, small_trace

_MAIN = "from flows.cli import main; main()"
_COMMANDS = ("refresh", "validate", "tables", "sql", "show", "stats", "fsck", "compact", "diff")


@pytest.fixture
def corpus(tmp_path: Path) -> str:
    with Corpus.create(tmp_path / "corpus") as corpus:
        corpus.commit(corpus.stage(batch([small_trace("a"), small_trace("b", 5)]), "run"), "run")
    return str(corpus.root)


@pytest.mark.parametrize("command", _COMMANDS)
def test_every_command_has_help_with_an_example(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run([command, "--help"]) == 0
    assert f"Example: passnet {command}" in capsys.readouterr().out


def test_without_a_command_the_commands_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert run([]) == 0
    listed = capsys.readouterr().out
    assert all(command in listed for command in _COMMANDS)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["frobnicate"], "frobnicate"),
        (["sql"], "SQL"),
        (["sql", "SELECT 1", "--frob"], "--frob"),
        (["stats", "--ops", "many"], "many"),
        (["stats", "--ops", "0"], "--ops"),
        (["tables", "--corpus", "/nowhere/at/all"], "/nowhere/at/all is not a corpus"),
        (["tables", "absent"], "there is no table 'absent'"),
        (["sql", "SELECT 1", "--json", "--csv"], "exclude each other"),
        (["sql", "SELECT 1", "--stock", "dtype_mix"], "either SQL or --stock"),
        (["sql", "--stock", "absent"], "there is no stock query 'absent'"),
        (["sql", "--stock", "op_bigrams", "--set", "limit=many"], "'limit=many' is not a number"),
        (["sql", "--stock", "dtype_mix", "--set", "op=relu"], "'op=relu' is not a parameter of dtype_mix"),
        (["sql", "SELECT 1", "--set", "op=relu"], "--set is for stock queries"),
    ],
    ids=str,
)
def test_a_usage_error_is_one_line_and_exit_2(
    arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(arguments) == 2
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err.startswith("passnet: ") and told.err.count("\n") == 1
    assert words in told.err and "; " in told.err


@pytest.mark.parametrize(
    "command",
    [
        ["sql", "SELECT count(*) FROM nodes"],
        ["tables"],
        ["fsck", "--deep"],
        ["show", "timm/a"],
        ["stats"],
        ["compact"],
        ["--help"],
    ],
    ids=lambda command: command[0],
)
def test_reading_commands_load_neither_torch_nor_prefect(corpus: str, command: list[str]) -> None:
    arguments = command if command == ["--help"] else [*command, "--corpus", corpus]
    script = f"""
import sys
from flows.cli import run
code = run({arguments!r})
print(code, sorted({{"torch", "prefect", "timm", "transformers"}} & set(sys.modules)), file=sys.stderr)
"""
    told = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert told.stderr == "0 []\n"


def test_a_closed_pipe_ends_quietly(corpus: str) -> None:
    query = "SELECT * FROM range(1000000)"
    command = [sys.executable, "-c", _MAIN, "sql", query, "--csv", "--corpus", corpus]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as reader:
        assert reader.stdout is not None and reader.stderr is not None
        assert reader.stdout.readline() == b"range\n"
        reader.stdout.close()
        assert reader.stderr.read() == b""
    assert reader.returncode == 1


def test_ctrl_c_exits_with_130_and_no_traceback(corpus: str) -> None:
    query = "SELECT range FROM range(100000000000)"
    command = [sys.executable, "-c", _MAIN, "sql", query, "--csv", "--corpus", corpus]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as reader:
        assert reader.stdout is not None and reader.stderr is not None
        assert reader.stdout.readline() == b"range\n"
        os.kill(reader.pid, signal.SIGINT)
        while reader.stdout.read(1 << 16):
            pass
        errors = reader.stderr.read().decode()
    assert reader.returncode == 130
    assert errors.startswith("passnet: ") and errors.count("\n") == 1


def test_a_query_that_is_interrupted_within_duckdb_is_a_ctrl_c_too() -> None:
    connection = duckdb.connect()
    timer = threading.Timer(0.5, connection.interrupt)
    timer.start()
    with pytest.raises(KeyboardInterrupt), stopping():
        connection.execute("SELECT sum(a.range * b.range) FROM range(1000000) a, range(20000) b")  # ten seconds
    timer.join()


def test_a_truncated_shard_is_refused_by_reading_commands_and_named_by_fsck(
    corpus: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (shard,) = Corpus.open(corpus).manifest().shards("nodes")
    os.truncate(Path(corpus) / shard.path, 10)
    for command in (["sql", "SELECT 1"], ["tables"], ["show", "timm/a"], ["stats"], ["compact"]):
        assert run([*command, "--corpus", corpus]) == 2
        told = capsys.readouterr()
        assert shard.path in told.err and told.err.count("\n") == 1
    assert run(["fsck", "--corpus", corpus]) == 1
    assert shard.path in capsys.readouterr().out


def test_json_is_an_array_of_objects_for_any_values(corpus: str, capsys: pytest.CaptureFixture[str]) -> None:
    query = """
        SELECT model_id, 'NaN'::DOUBLE AS nan, NULL AS nothing, [1, 2] AS list, {'a': 1.5} AS struct,
        DATE '2026-11-29' AS day,
        170141183460469231731687303715884105727::HUGEINT AS huge, 1.00000000000000000001::DECIMAL(38, 20) AS price,
        model_id
        FROM models ORDER BY model_id LIMIT 1
    """
    assert run(["sql", query, "--json", "--corpus", corpus]) == 0
    assert json.loads(capsys.readouterr().out) == [
        {
            "model_id": "timm/a",
            "nan": None,
            "nothing": None,
            "list": [1, 2],
            "struct": {"a": 1.5},
            "day": "2026-11-29",
            "huge": 170141183460469231731687303715884105727,
            "price": "1.00000000000000000001",
            "model_id_1": "timm/a",
        }
    ]
    assert run(["sql", "SELECT 1 WHERE false", "--json", "--corpus", corpus]) == 0
    assert json.loads(capsys.readouterr().out) == []
