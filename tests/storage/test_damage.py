"""Damage and misuse: one line that names the value and what to do, nothing written; fsck names what is wrong."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Callable
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from storage.corpus import Corpus
from storage.errors import CorpusError, UsageError
from storage.fsck import fsck
from storage.manifest import manifest_path
from storage.query import run_query, run_sql
from storage.schemas import SCHEMA_VERSION
from tests.storage.sample_traces import batch, small_trace


@pytest.fixture
def corpus(tmp_path: Path) -> Corpus:
    with Corpus.create(tmp_path / "corpus") as corpus:
        corpus.commit(corpus.stage(batch([small_trace("a"), small_trace("b", 5)]), "run"), "run")
    return corpus


def _shard(corpus: Corpus, table: str) -> Path:
    (shard,) = corpus.manifest().shards(table)
    return corpus.root / shard.path


def _tree(root: Path) -> set[Path]:
    return set(root.rglob("*"))


def test_a_stored_query_over_a_shard_of_other_bytes_says_so(corpus: Corpus) -> None:
    shard = _shard(corpus, "graphs")
    content = bytearray(shard.read_bytes())
    content[8:-64] = bytes(reversed(content[8:-64]))
    shard.write_bytes(content)
    with pytest.raises(CorpusError, match=r"cannot be read \(.*; see what is damaged: passnet fsck --deep"):
        run_query(corpus, "stats_totals")


def test_a_stored_query_that_is_wrong_rises(corpus: Corpus) -> None:
    with pytest.raises(duckdb.Error):
        run_query(corpus, "show_sources", {"no_such_name": 1})


def test_a_folder_that_is_no_corpus_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"is not a corpus \(it holds no manifests/000001.json\); name one"):
        Corpus.open(tmp_path)
    with pytest.raises(UsageError, match="there is no such folder"):
        Corpus.open(tmp_path / "absent")
    assert _tree(tmp_path) == set()


def test_a_corpus_is_not_made_in_a_folder_with_other_files(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("mine")
    with pytest.raises(UsageError, match=r"not empty \(it holds thesis.tex\)"):
        Corpus.create(tmp_path)
    with pytest.raises(UsageError, match="is not a folder"):
        Corpus.create(tmp_path / "thesis.tex")
    assert _tree(tmp_path) == {tmp_path / "thesis.tex"}


def test_a_corpus_half_made_by_a_killed_run_is_made_anew(tmp_path: Path) -> None:
    (tmp_path / "manifests").mkdir()
    (tmp_path / "manifests" / ".tmp.create-00000000.json").write_text("{")
    (tmp_path / ".prefect").mkdir()
    assert Corpus.create(tmp_path).manifest().number == 1


def test_a_newer_schema_is_refused(corpus: Corpus) -> None:
    path = manifest_path(corpus.root, 2)
    path.write_text(json.dumps(json.loads(path.read_text()) | {"schema_version": SCHEMA_VERSION + 1}))
    for opening in (Corpus.open, Corpus.create):
        with pytest.raises(UsageError, match=f"has schema version {SCHEMA_VERSION + 1}, this passnet reads"):
            opening(corpus.root)


def test_a_damaged_manifest_is_named(corpus: Corpus) -> None:
    manifest_path(corpus.root, 2).write_text("{")
    with pytest.raises(UsageError, match=r"manifest .*000002.json is damaged"):
        Corpus.open(corpus.root)


@pytest.mark.parametrize("change", [lambda path: os.truncate(path, 100), Path.unlink], ids=["truncated", "missing"])
def test_a_shard_that_is_not_whole_is_named_and_refused(corpus: Corpus, change: Callable[[Path], None]) -> None:
    path = _shard(corpus, "nodes")
    change(path)
    with pytest.raises(UsageError, match=str(path)):
        Corpus.open(corpus.root)
    (finding,) = fsck(Corpus.open_unchecked(corpus.root))
    assert str(path) in finding.problem


def test_a_flipped_byte_is_found_by_the_deep_check(corpus: Corpus) -> None:
    path = _shard(corpus, "graph_texts")
    content = bytearray(path.read_bytes())
    content[40] ^= 1
    path.write_bytes(content)
    (finding,) = fsck(corpus, deep=True)
    assert "was altered" in finding.problem


def rewrite(corpus: Corpus, table: str, rows: pa.Table) -> None:
    """Replace the one shard of a table, and its entry in the manifest, as a bug in a writer would have."""
    from storage.shards import write_shard

    shards = [write_shard(corpus.root, table, rows, "bug")] if rows.num_rows else []
    path = manifest_path(corpus.root, corpus.manifest().number)
    fields = json.loads(path.read_text())
    fields["tables"][table] = [{name: getattr(shard, name) for name in shard.__dataclass_fields__} for shard in shards]
    path.write_text(json.dumps(fields))


def test_doubled_keys_and_dangling_rows_are_found_by_the_quick_check(corpus: Corpus) -> None:
    models, graphs = corpus.read("models"), corpus.read("graphs")
    rewrite(corpus, "models", pa.concat_tables([models, models.slice(0, 1)]))
    rewrite(corpus, "graphs", graphs.slice(1))
    problems = [f"{finding.subject}: {finding.problem}" for finding in fsck(corpus)]
    assert "models: 2 rows have the key timm/a" in problems
    assert any("is missing" in problem and problem.startswith("graph_sources: timm/") for problem in problems)


@pytest.mark.parametrize(
    ("table", "column", "value", "problem"),
    [
        ("graphs", "structure_sha256", "0" * 64, "graphs.structure_sha256 is not what"),
        ("graphs", "op_sequence_xxh3", "0" * 32, "graphs.op_sequence_xxh3 is not what"),
        ("nodes", "single_op_sha256", "0" * 64, "nodes.single_op_sha256 is not what"),
        ("nodes", "literals", "{}", "nodes.literals is not what"),
        ("nodes", "op", "sin", "cannot be rebuilt"),
        ("graph_texts", "model_py", "import os\nos.abort()\n", "cannot be rebuilt"),
    ],
)
def test_rows_that_do_not_follow_from_the_text_are_found_by_the_deep_check(
    corpus: Corpus, table: str, column: str, value: str, problem: str
) -> None:
    rows = corpus.read(table)
    field = rows.schema.field(column)
    changed = pa.array([value, *rows.column(column).to_pylist()[1:]], field.type)
    rewrite(corpus, table, rows.set_column(rows.schema.get_field_index(column), field, changed))
    assert fsck(corpus) == []
    assert any(problem in finding.problem for finding in fsck(corpus, deep=True))


def test_a_wrong_row_count_in_the_manifest_is_found(corpus: Corpus) -> None:
    path = manifest_path(corpus.root, 2)
    fields = json.loads(path.read_text())
    fields["tables"]["nodes"][0]["rows"] += 1
    path.write_text(json.dumps(fields))
    (finding,) = fsck(corpus)
    assert finding.problem.endswith("holds 4 rows, the manifest says 5")


def test_a_file_that_is_not_parquet_is_found(corpus: Corpus) -> None:
    path = _shard(corpus, "models")
    path.write_bytes(b"x" * path.stat().st_size)
    (finding,) = fsck(corpus)
    assert "is not Parquet" in finding.problem
    with pytest.raises(UsageError, match="cannot be read"):
        corpus.read("models")
    with pytest.raises(UsageError, match="SQL failed"):
        run_sql(corpus, "FROM models")


def test_a_read_only_folder_is_refused_before_anything_is_written(corpus: Corpus) -> None:
    """Permissions do not stop root, so another user tries; without root, the owner itself."""
    script = """
        import os, sys
        from storage.corpus import Corpus
        from storage.errors import UsageError
        if os.geteuid() == 0:
            os.setuid(65534)
        for attempt in (lambda: Corpus.open(sys.argv[1], write=True), lambda: Corpus.create(sys.argv[1] + "/new")):
            try:
                attempt()
            except UsageError as error:
                print(error)
        print(len(Corpus.open(sys.argv[1]).read("models")))
    """
    before = _tree(corpus.root)
    folders = [corpus.root, *(path for path in before if path.is_dir())]
    for ancestor in corpus.root.parents:
        if ancestor.stat().st_uid == os.geteuid() and ancestor.is_relative_to(tempfile.gettempdir()):
            ancestor.chmod(stat.S_IMODE(ancestor.stat().st_mode) | 0o055)
    for folder in folders:
        folder.chmod(0o555)
    try:
        command = [sys.executable, "-c", textwrap.dedent(script), str(corpus.root)]
        told = subprocess.run(command, capture_output=True, text=True)
    finally:
        for folder in folders:
            folder.chmod(0o755)
    assert told.stderr == ""
    refused, not_made, rows = told.stdout.splitlines()
    assert "cannot be written (Permission denied)" in refused
    assert "cannot be written (Permission denied)" in not_made
    assert rows == "2"
    assert _tree(corpus.root) == before


@pytest.mark.parametrize(
    ("sql", "message"),
    [
        ("selct 1", "syntax error"),
        ("SELECT nothing FROM graphs", "nothing"),
        ("FROM absent", "absent"),
        ("", "0 statements"),
        ("SELECT 1; SELECT 2", "2 statements"),
        ("COPY models TO 'x.csv'", "COPY statement"),
        ("CREATE TABLE t AS SELECT 1", "CREATE statement"),
        ("EXPLAIN ANALYZE COPY models TO 'x.csv'", "EXPLAIN statement"),
        ("SELECT CAST(model_id AS INTEGER) FROM models", "Could not convert"),
    ],
)
def test_sql_that_cannot_run_is_one_line(corpus: Corpus, sql: str, message: str) -> None:
    with pytest.raises(UsageError, match=message) as caught:
        list(run_sql(corpus, sql).rows)
    assert "\n" not in str(caught.value)


def test_parquet_files_stay_readable_without_us(corpus: Corpus) -> None:
    assert pq.read_table(_shard(corpus, "graphs")).num_rows == 2
