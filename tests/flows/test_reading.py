"""What the reading commands print about a corpus."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from extract.failure import Reason
from flows.cli import run
from storage.corpus import Corpus
from storage.records import rows_to_table
from storage.schemas import SCHEMAS
from tests.storage.sample_traces import batch, failure, small_trace


@pytest.fixture
def corpus(tmp_path: Path) -> str:
    """Four models: a and twin share a graph, wide is the same program at another width, deep another program."""
    traces = [small_trace("a"), small_trace("twin"), small_trace("wide", 8), small_trace("deep", 4, 5)]
    with Corpus.create(tmp_path / "corpus") as corpus:
        tables = batch(traces)
        verdict = {
            "signature_sha256": tables["graphs"].column("signature_sha256")[0].as_py(),
            "constraint": "runnable",
            "outcome": "passed",
            "level": "fake",
        }
        tables["constraints"] = rows_to_table("constraints", [verdict])
        tables["failures"] = failure("timm/bad", Reason.BUILD_FAILED)
        corpus.commit(corpus.stage(tables, "run"), "run")
    return str(corpus.root)


def _ask(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert run(list(arguments)) == 0
    return capsys.readouterr().out


def _graph_row(corpus: str, model_id: str) -> dict[str, str]:
    columns = ("signature_sha256", "graph_sha256")
    query = f"SELECT {', '.join(columns)} FROM graph_sources JOIN graphs USING (signature_sha256) WHERE model_id = $id"
    (found,) = Corpus.open(corpus).connect().execute(query, {"id": model_id}).fetchall()
    return dict(zip(columns, found, strict=True))


def test_csv_has_a_header_and_nested_values_as_json(corpus: str, capsys: pytest.CaptureFixture[str]) -> None:
    query = "SELECT model_id, [1, 2] AS pair FROM models ORDER BY model_id LIMIT 1"
    assert _ask(capsys, "sql", query, "--csv", "--corpus", corpus) == 'model_id,pair\ntimm/a,"[1, 2]"\n'


def test_a_stock_query_runs_by_name_with_parameters(corpus: str, capsys: pytest.CaptureFixture[str]) -> None:
    listed = json.loads(_ask(capsys, "sql", "--stock", "list", "--json"))
    assert {"name": "op_bigrams", "title": "Pairs of producer and consumer", "parameters": "limit=100"} in listed
    arguments = ["--stock", "producers_and_consumers", "--set", "op=linear", "--csv", "--corpus", corpus]
    assert _ask(capsys, "sql", *arguments).splitlines()[1] == 'producer,input,"[1, 4]",2'


def test_a_table_shows_null_and_whole_values(corpus: str, capsys: pytest.CaptureFixture[str]) -> None:
    shown = _ask(
        capsys,
        "sql",
        "SELECT licence, signature_sha256 FROM graph_sources JOIN models USING (model_id)",
        "--corpus",
        corpus,
    )
    assert "null" in shown
    assert _graph_row(corpus, "timm/a")["signature_sha256"] in shown


def test_tables_counts_rows_and_bytes(corpus: str, capsys: pytest.CaptureFixture[str]) -> None:
    rows = {row["table"]: row for row in json.loads(_ask(capsys, "tables", "--json", "--corpus", corpus))}
    assert set(rows) == set(SCHEMAS)
    assert (rows["graphs"]["rows"], rows["graph_sources"]["rows"], rows["nodes"]["rows"]) == (3, 4, 9)
    (shard,) = Corpus.open(corpus).manifest().shards("graphs")
    assert rows["graphs"]["bytes"] == shard.bytes


def test_tables_describes_every_column(corpus: str, capsys: pytest.CaptureFixture[str]) -> None:
    rows = json.loads(_ask(capsys, "tables", "--columns", "--json", "--corpus", corpus))
    assert {(row["table"], row["column"]) for row in rows} == {(t, name) for t in SCHEMAS for name in SCHEMAS[t].names}
    assert all(row["description"] for row in rows)


def test_show_prints_shapes_beside_lines_sources_and_verdicts(corpus: str, capsys: pytest.CaptureFixture[str]) -> None:
    shown = _ask(capsys, "show", "timm/a", "--corpus", corpus)
    lines = [line for line in shown.splitlines() if " = torch." in line]
    assert len(lines) == 2 and all(line.endswith("# float32[1, 4]") for line in lines)
    assert "timm/twin" in shown
    assert "runnable" in shown and "passed" in shown


def test_show_in_a_pipe_fits_and_says_what_is_unknown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    trace = small_trace("a")
    trace = replace(trace, model=replace(trace.model, domain=None, licence="words " * 60))
    with Corpus.create(tmp_path / "corpus") as corpus:
        corpus.commit(corpus.stage(batch([trace]), "run"), "run")
    shown = _ask(capsys, "show", "timm/a", "--corpus", str(corpus.root))
    assert "domain unknown" in shown and "None" not in shown and "null" not in shown
    assert max(map(len, shown.splitlines())) <= 120


def test_show_finds_a_graph_by_model_name_and_by_prefix_of_any_hash(
    corpus: str, capsys: pytest.CaptureFixture[str]
) -> None:
    row = _graph_row(corpus, "timm/deep")
    for name in ("deep", "timm/deep", row["signature_sha256"][:12].upper(), row["graph_sha256"]):
        assert row["signature_sha256"] in _ask(capsys, "show", name, "--corpus", corpus)


def test_an_ambiguous_hash_lists_the_matches(corpus: str, capsys: pytest.CaptureFixture[str]) -> None:
    program = _graph_row(corpus, "timm/a")["graph_sha256"]
    assert run(["show", program, "--corpus", corpus]) == 2
    told = capsys.readouterr().err
    assert "means 2 graphs" in told and "(timm/a)" in told and "(timm/wide)" in told
    assert told.count("\n") == 1


def test_an_unknown_hash_and_a_model_without_graph_say_so(corpus: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["show", "f" * 64, "--corpus", corpus]) == 2
    assert "no graph, subgraph, instance or model" in capsys.readouterr().err
    assert run(["show", "timm/bad", "--corpus", corpus]) == 2
    assert "trace failed, build_failed (why)" in capsys.readouterr().err


def test_stats_follow_the_definitions(corpus: str, capsys: pytest.CaptureFixture[str]) -> None:
    (parts,) = json.loads(_ask(capsys, "stats", "--json", "--corpus", corpus))
    (totals,) = parts["totals"]
    assert (totals["traced_graphs"], totals["signatures"], totals["distinct_graphs"]) == (4, 3, 2)
    assert totals["redundancy_frac"] == 0.5  # 1 - 2 distinct programs / 4 traced
    assert parts["domains"] == [{"domain": "cv", "traced_models": 4, "distinct_graphs": 2}]
    assert parts["node_bins"] == [
        {"from_ops": 2, "to_ops": 3, "distinct_graphs": 1},
        {"from_ops": 4, "to_ops": 7, "distinct_graphs": 1},
    ]
    assert [(row["op"], row["occurrences"]) for row in parts["ops"]] == [("relu", 5), ("linear", 2)]
    assert parts["verdicts"][0]["passed"] == 1


def test_stats_of_an_empty_corpus_are_printed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Corpus.create(tmp_path / "empty").close()
    assert "null" in _ask(capsys, "stats", "--corpus", str(tmp_path / "empty"))


def test_stats_draws_a_picture(corpus: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    picture = tmp_path / "stats.png"
    assert str(picture) in _ask(capsys, "stats", "--plot", str(picture), "--corpus", corpus)
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert run(["stats", "--plot", str(tmp_path / "absent" / "x.png"), "--corpus", corpus]) == 2
    assert run(["stats", "--plot", str(tmp_path / "x.txt"), "--corpus", corpus]) == 2


def test_fsck_compact_and_diff_agree_that_nothing_is_lost(
    corpus: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with Corpus.create(tmp_path / "other") as other:
        for name, width, ops in (("a", 4, 2), ("twin", 4, 2), ("wide", 8, 2), ("deep", 4, 5)):
            other.commit(other.stage(batch([small_trace(name, width, ops)]), "run"), "run")
    assert "now (manifest" in _ask(capsys, "compact", "--expire", "--corpus", str(other.root))
    assert "is sound (deep check" in _ask(capsys, "fsck", "--deep", "--corpus", str(other.root))
    assert run(["diff", corpus, str(other.root)]) == 1
    assert {line.split(":")[0] for line in capsys.readouterr().out.splitlines()} == {"constraints", "failures"}
