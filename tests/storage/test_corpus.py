"""A corpus: commits are whole, keys are never doubled, first-seen rows win."""

from __future__ import annotations

import dataclasses
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from extract.failure import Reason
from extract.model_ref import ModelRef
from storage.compaction import prefixes_for
from storage.comparison import comparable_tables, differences
from storage.corpus import Corpus
from storage.errors import UsageError, WriteError
from storage.filesystem import file_sha256
from storage.fsck import fsck
from storage.manifest import Shard, create_manifest, manifest_path
from storage.records import model_table, rows_to_table, trace_tables
from storage.schemas import SCHEMA_VERSION, SCHEMAS
from tests.storage.sample_traces import NOW, batch, failure, small_trace


@pytest.fixture
def corpus(tmp_path: Path) -> Corpus:
    return Corpus.create(tmp_path / "corpus")


def _commit(corpus: Corpus, tables: dict[str, pa.Table], run_id: str = "run") -> None:
    corpus.commit(corpus.stage(tables, run_id), run_id, {"why": "test"})


def _model_ids(corpus: Corpus, table: str = "graph_sources") -> list[str]:
    return sorted(corpus.read(table, ["model_id"]).column(0).to_pylist())


def test_a_new_corpus_has_every_table_and_no_row(corpus: Corpus) -> None:
    manifest = corpus.manifest()
    assert set(manifest.tables) == set(SCHEMAS)
    assert sum(manifest.rows(table) for table in SCHEMAS) == 0
    assert fsck(corpus, deep=True) == []


def test_staged_rows_are_no_rows_until_committed(corpus: Corpus) -> None:
    staged = corpus.stage(batch([small_trace("a")]), "run")
    assert _model_ids(corpus) == []
    manifest = corpus.commit(staged, "run", {"limit": 1})
    assert _model_ids(corpus) == ["timm/a"]
    assert (manifest.number, manifest.run_id, manifest.config) == (2, "run", {"limit": 1})


def test_a_graph_of_two_models_is_one_row_with_two_sources(corpus: Corpus) -> None:
    _commit(corpus, batch([small_trace("a"), small_trace("b"), small_trace("c", 5)]))
    _commit(corpus, batch([small_trace("d"), small_trace("e", 6)]))
    manifest = corpus.manifest()
    assert {t: manifest.rows(t) for t in ("models", "graphs", "graph_texts", "graph_sources", "nodes")} == {
        "models": 5,
        "graphs": 3,
        "graph_texts": 3,
        "graph_sources": 5,
        "nodes": 6,
    }
    assert fsck(corpus, deep=True) == []


def test_the_first_row_of_a_model_wins_and_its_later_graph_is_dropped(corpus: Corpus) -> None:
    _commit(corpus, batch([small_trace("a", 4)]))
    _commit(corpus, batch([small_trace("a", 9)]))
    assert corpus.manifest().rows("graphs") == 1
    assert corpus.read("graph_sources").num_rows == 1


def test_committing_what_is_known_makes_no_manifest(corpus: Corpus) -> None:
    _commit(corpus, batch([small_trace("a")]))
    _commit(corpus, batch([small_trace("a")]))
    assert corpus.manifest().number == 2


def test_a_model_named_first_and_built_later_has_one_full_row(corpus: Corpus) -> None:
    bare = [ModelRef("timm/a", "timm"), ModelRef("timm/z", "timm")]
    _commit(corpus, {"models": model_table(bare)})
    _commit(corpus, batch([small_trace("a")]))
    _commit(corpus, {"models": model_table(bare)})
    rows = {row["model_id"]: row["num_parameters"] for row in corpus.read("models").to_pylist()}
    assert rows == {"timm/a": 16, "timm/z": None}
    assert corpus.read("models").num_rows == 2


def test_the_loser_of_a_race_keeps_only_what_is_new(tmp_path: Path) -> None:
    first, second = Corpus.create(tmp_path / "c"), Corpus.create(tmp_path / "c")
    ours = first.stage(batch([small_trace("a"), small_trace("b", 5)]), "one")
    theirs = second.stage(batch([small_trace("a"), small_trace("c", 6)]), "two")
    first.commit(ours, "one")
    second.commit(theirs, "two")
    assert _model_ids(first) == ["timm/a", "timm/b", "timm/c"]
    assert first.manifest().rows("graphs") == 3
    assert fsck(first, deep=True) == []


@settings(max_examples=12)
@given(st.lists(st.lists(st.tuples(st.sampled_from("abcdef"), st.integers(1, 4)), min_size=1, max_size=4), max_size=4))
def test_any_batches_in_any_order_leave_a_sound_corpus(
    tmp_path_factory: pytest.TempPathFactory, batches: list[list[tuple[str, int]]]
) -> None:
    corpus = Corpus.create(tmp_path_factory.mktemp("corpus"))
    first_seen: dict[str, int] = {}
    staged = [corpus.stage(batch([small_trace(name, width) for name, width in part]), "run") for part in batches]
    for part, shards in zip(batches, staged, strict=True):
        corpus.commit(shards, "run")
        for name, width in part:
            first_seen.setdefault(f"timm/{name}", width)
    assert _model_ids(corpus) == sorted(first_seen)
    assert corpus.manifest().rows("graphs") == len(set(first_seen.values()))
    assert fsck(corpus, deep=True) == []


def test_done_models_are_the_traced_and_those_that_failed_for_good(corpus: Corpus) -> None:
    _commit(corpus, batch([small_trace("a")]))
    _commit(corpus, {"failures": failure("timm/bad", Reason.BUILD_FAILED)})
    _commit(corpus, {"failures": failure("timm/unlucky", Reason.BAD_REPLY)})
    assert corpus.done_models(1) == {"timm/a", "timm/bad"}
    assert corpus.done_models(2) == {"timm/a"}


def test_failures_are_appended_and_solved_ones_hidden(corpus: Corpus) -> None:
    for run in ("one", "two"):
        _commit(corpus, {"failures": failure("timm/bad", Reason.TIMEOUT, run)}, run)
        _commit(corpus, {"failures": failure("timm/a", Reason.BAD_REPLY, run)}, run)
    _commit(corpus, batch([small_trace("a")]))
    assert corpus.read("failures").num_rows == 4
    assert corpus.connect().sql("SELECT subject FROM current_failures").fetchall() == [("timm/bad",)]


def test_xxh3_is_filled_in_when_staged(corpus: Corpus) -> None:
    _commit(corpus, batch([small_trace("a")]))
    (digest,) = corpus.read("graphs", ["op_sequence_xxh3"]).column(0).to_pylist()
    assert len(digest) == 32


def test_shards_are_ordered_by_key_and_say_which_versions_made_them(corpus: Corpus) -> None:
    _commit(corpus, batch([small_trace(name, width) for name, width in zip("abcde", range(3, 8), strict=True)]))
    (shard,) = corpus.manifest().shards("graphs")
    keys = pq.read_table(corpus.root / shard.path).column("signature_sha256").to_pylist()
    assert keys == sorted(keys)
    assert (shard.min_key, shard.max_key) == (keys[0], keys[-1])
    metadata = pq.read_schema(corpus.root / shard.path).metadata
    assert metadata[b"schema_version"] == str(SCHEMA_VERSION).encode()
    assert metadata[b"graph_algorithm"] == b"passnet-graph/1"
    (sources,) = corpus.manifest().shards("graph_sources")
    assert pq.read_schema(corpus.root / sources.path).metadata[b"torch_version"] == b"2.14.1"


def test_a_column_that_an_older_shard_lacks_reads_as_null(corpus: Corpus) -> None:
    _commit(corpus, {"models": model_table([ModelRef("timm/a", "timm", licence="mit")])})
    (shard,) = corpus.manifest().shards("models")
    path = corpus.root / shard.path
    pq.write_table(pq.read_table(path).drop_columns(["licence"]), path)
    assert corpus.read("models").column("licence").to_pylist() == [None]


def test_a_corpus_of_the_first_schema_is_read_whole_and_added_to(corpus: Corpus) -> None:
    _commit(corpus, batch([small_trace("old")]))
    added = ["head", "repairs", "modalities", "modalities_received", "inputs", "num_guesses", "parameters_used_frac"]
    _make_older(corpus, "models", added)
    with corpus.connect() as connection:
        assert connection.execute("SELECT model_id, head, inputs FROM models").fetchall() == [("timm/old", None, None)]
        assert connection.execute("SELECT status, reason FROM coverage").fetchall() == [
            ("traced", "traced before this was recorded")
        ]
    _commit(corpus, batch([small_trace("new", width=8)]), "later")
    assert _model_ids(corpus, "models") == ["timm/new", "timm/old"]
    with corpus.connect() as connection:
        assert connection.execute("SELECT count(*) FROM models").fetchall() == [(2,)]


def test_coverage_says_that_a_model_was_captured_or_imported(corpus: Corpus) -> None:
    traces = [
        dataclasses.replace(small_trace(name), model=ModelRef(f"{name}/net", name)) for name in ("import", "user")
    ]
    _commit(corpus, batch(traces))
    with corpus.connect() as connection:
        found = connection.execute("SELECT source, status, reason FROM coverage ORDER BY source").fetchall()
    assert found == [
        ("import", "traced", "imported: inputs are the sample's own"),
        ("user", "traced", "captured: inputs are the user's own"),
    ]


def test_nodes_of_an_older_schema_are_sound_and_the_run_is_filled_in_when_staged(corpus: Corpus) -> None:
    _commit(corpus, batch([small_trace("old")]))
    assert corpus.read("graph_sources").column("run_id").to_pylist() == ["run"]
    _make_older(corpus, "nodes", ["operand_ops", "operand_shapes", "operand_bytes", "output_bytes", "depth"])
    _make_older(corpus, "graph_sources", ["run_id"])
    assert fsck(corpus, deep=True) == []
    _commit(corpus, batch([small_trace("new", ops=3)]), "later")
    with corpus.connect() as connection:
        found = connection.execute("SELECT operand_ops, depth FROM nodes ORDER BY ALL").fetchall()
        runs = connection.execute("SELECT run_id FROM graph_sources ORDER BY ALL").fetchall()
    assert found == [("input parameter", 1), ("linear", 2), ("relu", 3), (None, None), (None, None)]
    assert runs == [("later",), (None,)]


def _make_older(corpus: Corpus, table: str, columns: list[str]) -> None:
    """Rewrite the shards of a table as they were before `columns` were added, and say so in the manifest."""
    manifest = corpus.manifest()
    shards = []
    for shard in manifest.shards(table):
        path = corpus.root / shard.path
        pq.write_table(pq.read_table(path).drop_columns(columns), path)
        whole = {"bytes": path.stat().st_size, "sha256": file_sha256(path)}
        shards.append(dataclasses.replace(shard, schema_version=1, **whole))
    older = dataclasses.replace(manifest, tables={**manifest.tables, table: tuple(shards)}, schema_version=1)
    path = manifest_path(corpus.root, manifest.number)
    path.unlink()
    create_manifest(corpus.root, older)


def test_compaction_keeps_rows_and_older_manifests(corpus: Corpus) -> None:
    for number in range(4):
        _commit(corpus, batch([small_trace(f"m{number}", number + 1)]))
        _commit(corpus, {"failures": failure(f"timm/bad{number}", Reason.TIMEOUT)})
    before, old = comparable_tables(corpus), corpus.manifest()
    corpus.compact()
    assert comparable_tables(corpus) == before
    assert all(len(shards) <= 1 for shards in corpus.manifest().tables.values())
    assert all((corpus.root / path).exists() for path in old.paths())
    assert fsck(corpus, deep=True) == []


def test_expiry_leaves_the_newest_manifest_its_shards_and_the_catalogue(corpus: Corpus) -> None:
    for number in range(3):
        _commit(corpus, batch([small_trace(f"m{number}", number + 1)]))
    catalogue = corpus.write_catalogue()
    corpus.compact(expire=True)
    on_disk = {path.relative_to(corpus.root).as_posix() for path in corpus.root.rglob("*.parquet")}
    assert on_disk == corpus.manifest().paths()
    assert len(list((corpus.root / "manifests").iterdir())) == 1
    with duckdb.connect(str(catalogue), read_only=True) as connection:
        assert connection.sql("SELECT count(*) FROM graphs").fetchall() == [(3,)]


def test_a_commit_between_merge_and_manifest_is_kept(corpus: Corpus, monkeypatch: pytest.MonkeyPatch) -> None:
    from storage import compaction

    for name in "ab":
        _commit(corpus, batch([small_trace(name)]))
    merge = compaction._merge  # type: ignore[attr-defined]
    intruder = Corpus.open(corpus.root, write=True)

    def merge_while_another_commits(*arguments: object) -> object:
        merged = merge(*arguments)
        _commit(intruder, batch([small_trace("late", 7)]), "late")
        return merged

    monkeypatch.setattr(compaction, "_merge", merge_while_another_commits)
    corpus.compact()
    assert _model_ids(corpus) == ["timm/a", "timm/b", "timm/late"]
    assert fsck(corpus, deep=True) == []


def test_large_hashed_tables_are_partitioned_and_others_never() -> None:
    def shard(size: int) -> tuple[Shard, ...]:
        return (Shard("p", 1, size, "", "", "", "all", 1),)

    assert prefixes_for("nodes", shard(1 << 20)) == ("all",)
    assert len(prefixes_for("nodes", shard(100 << 20))) == 16
    assert len(prefixes_for("nodes", shard(2 << 30))) == 256
    assert prefixes_for("models", shard(2 << 30)) == ("all",)


def test_partitioned_compaction_keeps_rows(corpus: Corpus, monkeypatch: pytest.MonkeyPatch) -> None:
    from storage import compaction

    for number in range(6):
        _commit(corpus, batch([small_trace(f"m{number}", number + 1)]))
    before = comparable_tables(corpus)
    monkeypatch.setattr(compaction, "_PARTITION_BYTES", 4096)
    corpus.compact()
    prefixes = {shard.prefix for shard in corpus.manifest().shards("nodes")}
    assert prefixes != {"all"}
    assert comparable_tables(corpus) == before
    _commit(corpus, batch([small_trace("m9", 9)]))
    assert fsck(corpus, deep=True) == []


def test_the_catalogue_moves_with_its_folder(corpus: Corpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _commit(corpus, batch([small_trace("a")]))
    corpus.write_catalogue()
    moved = corpus.root.rename(tmp_path / "it's moved")
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    with duckdb.connect(str(moved / "corpus.duckdb"), read_only=True) as connection:
        assert connection.sql("SELECT model_id FROM graph_sources").fetchall() == [("timm/a",)]
        comments = connection.sql("SELECT comment FROM duckdb_columns() WHERE column_name = 'model_py'").fetchall()
        assert comments[0][0].startswith("The program as Python source")
    monkeypatch.chdir(moved)
    with duckdb.connect("corpus.duckdb", read_only=True) as connection:
        assert connection.sql("SELECT count(*) FROM nodes").fetchall() == [(2,)]


def test_an_open_catalogue_does_not_block_writers(corpus: Corpus) -> None:
    _commit(corpus, batch([small_trace("a")]))
    path = corpus.write_catalogue()
    with duckdb.connect(str(path), read_only=True) as connection:
        _commit(corpus, batch([small_trace("b", 5)]))
        corpus.write_catalogue()
        assert connection.sql("SELECT count(*) FROM graphs").fetchall() == [(1,)]


@pytest.mark.parametrize(
    "statement",
    [
        "COPY (SELECT 1) TO '{root}/x.csv'",
        "SELECT * FROM read_text('/etc/passwd')",
        "SET enable_external_access = true",
    ],
)
def test_the_connection_reads_the_corpus_and_nothing_else(corpus: Corpus, statement: str) -> None:
    _commit(corpus, batch([small_trace("a")]))
    with pytest.raises(duckdb.Error):
        corpus.connect().execute(statement.format(root=corpus.root))


def test_texts_and_nodes_without_their_graphs_are_refused(corpus: Corpus) -> None:
    tables = trace_tables(small_trace("a"), NOW)
    with pytest.raises(ValueError, match="staged with their graphs only"):
        corpus.stage({"nodes": tables["nodes"]}, "run")


def test_reading_corpora_write_nothing(corpus: Corpus) -> None:
    reader = Corpus.open(corpus.root)
    with pytest.raises(UsageError, match="opened for reading"):
        reader.stage(batch([small_trace("a")]), "run")


def test_comparison_ignores_times_and_runs_only(tmp_path: Path) -> None:
    corpora = [Corpus.create(tmp_path / name) for name in ("one", "two", "three")]
    for number, (corpus, width) in enumerate(zip(corpora, (4, 4, 5), strict=True)):
        trace = dataclasses.replace(small_trace("a", width), trace_seconds=float(number))
        _commit(corpus, batch([trace], NOW.replace(year=2026 + number)), f"run{number}")
    assert differences(corpora[0], corpora[1]) == []
    assert any(line.startswith("graphs: 1 keys only in the first") for line in differences(corpora[0], corpora[2]))


def test_constraints_of_an_unknown_graph_are_dropped(corpus: Corpus) -> None:
    row = {"signature_sha256": "0" * 64, "constraint": "runnable", "outcome": "passed", "level": "fake"}
    _commit(corpus, {"constraints": rows_to_table("constraints", [row])})
    assert corpus.manifest().rows("constraints") == 0


_WRITER = """
    import sys
    from storage.corpus import Corpus
    from tests.storage.sample_traces import batch, small_trace
    root, run, first, last, step = sys.argv[1:3] + [int(n) for n in sys.argv[3:]]
    with Corpus.create(root) as corpus:
        for number in range(first, last, step):
            traces = [small_trace(f"m{n}", 1 + n % 17) for n in range(number, number + abs(step))]
            corpus.commit(corpus.stage(batch(traces), run), run)
"""


def _writer(root: Path, run: str, *numbers: int, fault: str = "") -> subprocess.Popen[str]:
    command = [sys.executable, "-c", textwrap.dedent(_WRITER), str(root), run, *map(str, numbers)]
    return subprocess.Popen(command, env={**os.environ, "PASSNET_FAULT": fault}, stderr=subprocess.PIPE, text=True)


def test_two_processes_at_once_lose_and_double_nothing(tmp_path: Path) -> None:
    root = tmp_path / "corpus"
    writers = [_writer(root, "up", 0, 40, 4), _writer(root, "down", 36, -1, -4)]
    for writer in writers:
        _, errors = writer.communicate()
        assert (writer.returncode, errors) == (0, "")
    corpus = Corpus.open(root)
    assert _model_ids(corpus) == sorted(f"timm/m{number}" for number in range(40))
    assert corpus.manifest().rows("graphs") == 17
    assert fsck(corpus, deep=True) == []


@pytest.mark.parametrize("commit", [1, 3])
def test_a_kill_before_the_manifest_leaves_the_last_commit_and_a_rerun_heals(tmp_path: Path, commit: int) -> None:
    root, whole = tmp_path / "killed", tmp_path / "whole"
    killed = _writer(root, "first", 0, 16, 4, fault=f"commit:before_manifest:{commit}")
    killed.communicate()
    assert killed.returncode == -9
    survivor = Corpus.open(root)
    assert len(_model_ids(survivor)) == 4 * (commit - 1)
    assert fsck(survivor, deep=True) == []
    for target in (root, whole):
        rerun = _writer(target, "second", 0, 16, 4)
        assert (rerun.communicate()[1], rerun.returncode) == ("", 0)
    assert differences(Corpus.open(root), Corpus.open(whole)) == []
    on_disk = {path.relative_to(root).as_posix() for path in root.rglob("*.parquet")}
    assert on_disk == survivor.manifest().paths(), "what the killed run left is gone"


def test_what_a_live_run_has_staged_is_never_removed(tmp_path: Path) -> None:
    live, other = Corpus.create(tmp_path / "c"), Corpus.create(tmp_path / "c")
    staged = live.stage(batch([small_trace("a")]), "live")
    _commit(other, batch([small_trace("b", 5)]), "other")
    assert all((live.root / shard.path).exists() for shard in staged.shards.values())
    live.commit(staged, "live")
    assert _model_ids(other) == ["timm/a", "timm/b"]


def test_what_a_closed_run_left_is_removed_by_the_next_writer(tmp_path: Path) -> None:
    with Corpus.create(tmp_path / "c") as given_up:
        staged = given_up.stage(batch([small_trace("a")]), "given-up")
    foreign = given_up.root / "graphs" / "notes.txt"
    foreign.write_text("mine")
    with Corpus.create(tmp_path / "c") as corpus:
        _commit(corpus, batch([small_trace("b", 5)]), "next")
    assert not any((given_up.root / shard.path).exists() for shard in staged.shards.values())
    assert foreign.exists()


def test_a_full_disk_is_one_line_and_the_corpus_stays(tmp_path: Path) -> None:
    script = """
        import resource, sys
        from storage.corpus import Corpus
        from storage.errors import WriteError
        from tests.storage.sample_traces import batch, small_trace
        with Corpus.create(sys.argv[1]) as corpus:
            corpus.commit(corpus.stage(batch([small_trace("a")]), "run"), "run")
            resource.setrlimit(resource.RLIMIT_FSIZE, (8192, 8192))
            try:
                corpus.stage(batch([small_trace(f"m{n}", n + 1, 300) for n in range(40)]), "run")
            except WriteError as error:
                print(error.exit_code, error)
    """
    command = [sys.executable, "-c", textwrap.dedent(script), str(tmp_path / "c")]
    told = subprocess.run(command, capture_output=True, text=True)
    assert told.stderr == ""
    assert told.stdout.startswith("1 no space left to write ") and told.stdout.count("\n") == 1
    corpus = Corpus.open(tmp_path / "c", write=True)
    assert _model_ids(corpus) == ["timm/a"]
    _commit(corpus, batch([small_trace(f"m{n}", n + 1, 300) for n in range(40)]), "again")
    assert fsck(corpus, deep=True) == []
    on_disk = {path.relative_to(corpus.root).as_posix() for path in corpus.root.rglob("*.parquet")}
    assert on_disk == corpus.manifest().paths()


def test_write_errors_end_with_one_and_usage_errors_with_two() -> None:
    assert (WriteError("a", "b").exit_code, UsageError("a", "b").exit_code) == (1, 2)
    assert str(UsageError("what\n is", "do")) == "what is; do"


def test_a_manifest_is_never_overwritten(corpus: Corpus) -> None:
    from storage.manifest import create_manifest, empty_manifest

    before = manifest_path(corpus.root, 1).read_bytes()
    with pytest.raises(FileExistsError):
        create_manifest(corpus.root, empty_manifest("other"))
    assert manifest_path(corpus.root, 1).read_bytes() == before
    assert len(list((corpus.root / "manifests").iterdir())) == 1


def _verdict(signature: str, level: str, reason: str | None = None) -> pa.Table:
    row = {"signature_sha256": signature, "constraint": "runnable", "outcome": "passed", "level": level}
    return rows_to_table("constraints", [row | {"reason": reason}])


def test_verdicts_of_two_levels_stand_beside_each_other_and_the_first_of_each_wins(corpus: Corpus) -> None:
    tables = batch([small_trace("a")])
    signature = tables["graphs"].column("signature_sha256")[0].as_py()
    _commit(corpus, tables | {"constraints": _verdict(signature, "fake")})
    _commit(corpus, {"constraints": _verdict(signature, "real", "first")})
    _commit(corpus, {"constraints": _verdict(signature, "real", "second")})
    rows = corpus.read("constraints", ["level", "reason"]).to_pylist()
    assert sorted(rows, key=str) == [{"level": "fake", "reason": None}, {"level": "real", "reason": "first"}]


@pytest.mark.parametrize("reason", ["over_budget", "killed"])
def test_a_verdict_that_was_not_reached_gives_way_and_never_comes_back(corpus: Corpus, reason: str) -> None:
    tables = batch([small_trace("a")])
    signature = tables["graphs"].column("signature_sha256")[0].as_py()
    _commit(corpus, tables | {"constraints": _verdict(signature, "real", reason)})
    _commit(corpus, {"constraints": _verdict(signature, "real", reason)})
    assert corpus.read("constraints", ["reason"]).column(0).to_pylist() == [reason]
    _commit(corpus, {"constraints": _verdict(signature, "real")})
    _commit(corpus, {"constraints": _verdict(signature, "real", reason)})
    corpus.compact()
    assert corpus.read("constraints", ["reason"]).column(0).to_pylist() == [None]
