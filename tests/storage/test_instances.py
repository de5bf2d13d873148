"""Stored instances: rendered from their rows, checked against what they point at, kept apart between runs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from extract.cut import Cutter
from extract.hashing import signature_sha256
from mining.instance import instance_sha256
from storage.corpus import Corpus
from storage.dedup import KnownKeys, novel_rows
from storage.errors import CorpusError
from storage.fsck import fsck
from storage.instances import instance_rows, render_stored
from storage.query import run_query
from storage.records import graph_from_rows
from tests.storage.generalized_corpus import make_generalized, rows_of
from tests.storage.test_damage import rewrite


@pytest.fixture(scope="module")
def generalized(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    return make_generalized(tmp_path_factory.mktemp("generalized") / "corpus")


@pytest.fixture
def copy(tmp_path: Path) -> Corpus:
    """A corpus to damage."""
    return make_generalized(tmp_path / "corpus")


def problems(corpus: Corpus, *, deep: bool = False) -> list[str]:
    return [f"{finding.subject}: {finding.problem}" for finding in fsck(corpus, deep=deep)]


def with_value(rows: pa.Table, column: str, value: Any) -> pa.Table:
    """Return rows with another value in the first."""
    values = [value, *rows.column(column).to_pylist()[1:]]
    place = rows.schema.get_field_index(column)
    return rows.set_column(place, rows.schema.field(place), pa.array(values, rows.schema.field(place).type))


def test_every_stored_instance_renders_to_the_program_of_its_hash(generalized: Corpus) -> None:
    hashes = [name for (name,) in rows_of(generalized, "SELECT instance_sha256 FROM instances")]
    assert len(set(hashes)) == len(hashes) > 10
    assert rows_of(generalized, "SELECT count(*) FROM instances WHERE overrides <> '[]'") > [(0,)]
    for name in hashes:
        (row,) = instance_rows(generalized, name)
        graph = render_stored(generalized, row)
        assert instance_sha256(signature_sha256(graph)) == name
        assert graph.tensors[0].shape[0] == row["sizes"]["batch"]
        assert {tensor.dtype for tensor in graph.tensors} == {row["dtype"]}


def test_the_models_own_sizes_render_to_the_cut_itself(generalized: Corpus) -> None:
    query = "SELECT instance_sha256 FROM instances WHERE shape_config = 0 AND dtype = 'float32'"
    ((name,),) = rows_of(generalized, query)
    (row,) = instance_rows(generalized, name)
    tables = [generalized.read(table) for table in ("graphs", "graph_texts", "nodes")]
    (graph,), (text,) = tables[0].to_pylist(), tables[1].column("model_py").to_pylist()
    whole = graph_from_rows(graph, text, tables[2].sort_by("index").to_pylist())
    assert render_stored(generalized, row) == Cutter(whole).cut(row["start"], row["end"]).graph


def test_a_recipe_that_gives_another_program_is_an_error(generalized: Corpus) -> None:
    ((name,),) = rows_of(generalized, "SELECT min(instance_sha256) FROM instances")
    (row,) = instance_rows(generalized, name)
    operands = [{**row["operands"][0], "dtype": "float64"}, *row["operands"][1:]]
    with pytest.raises(CorpusError, match="it is damaged"):
        render_stored(generalized, {**row, "operands": operands})
    with pytest.raises(CorpusError, match="the graph that it is made of is missing"):
        render_stored(generalized, {**row, "base_signature_sha256": "0" * 64})
    with pytest.raises(CorpusError, match="is not subgraph"):
        render_stored(generalized, {**row, "base_end": row["base_end"] - 1})


def test_a_generalized_corpus_is_sound(generalized: Corpus) -> None:
    assert problems(generalized, deep=True) == []


@pytest.mark.parametrize(
    ("table", "change", "said"),
    [
        ("instances", lambda rows: rows.slice(1), "instances, there are"),
        ("missing_instances", lambda rows: rows.slice(1), "missing, there are"),
        ("generalizations", lambda rows: rows.slice(rows.num_rows), "instances: {subgraph}: its row in generaliz"),
        ("generalizations", lambda rows: rows.slice(rows.num_rows), "missing_instances: {subgraph}: its row in"),
        ("generalizations", lambda rows: with_value(rows, "start", 0), "of its graph are no occurrence"),
        ("generalizations", lambda rows: with_value(rows, "signature_sha256", "0" * 64), "its graph 000"),
        ("generalizations", lambda rows: with_value(rows, "model_id", "timm/other"), "timm/other has no graph"),
        ("generalizations", lambda rows: with_value(rows, "model_id", "timm/other"), "its base of timm/other"),
        ("subgraphs", lambda rows: rows.slice(rows.num_rows), "generalizations: {subgraph}: its subgraph is missing"),
        ("variants", lambda rows: rows.slice(rows.num_rows), "its variant (timm/test_vit, "),
        ("variants", lambda rows: with_value(rows, "signature_sha256", "0" * 64), "its variant (timm/test_vit, 0, "),
        ("variants", lambda rows: with_value(rows, "model_id", "timm/other"), "variants: timm/other: its model is"),
    ],
)
def test_the_quick_check_finds(copy: Corpus, table: str, change: Callable[[pa.Table], pa.Table], said: str) -> None:
    ((subgraph,),) = rows_of(copy, "SELECT subgraph_sha256 FROM generalizations")
    rewrite(copy, table, change(copy.read(table).sort_by([(copy.read(table).schema.names[1], "ascending")])))
    assert any(said.format(subgraph=subgraph) in problem for problem in problems(copy))


def test_the_quick_check_finds_what_is_both_an_instance_and_missing(copy: Corpus) -> None:
    instances, missing = copy.read("instances"), copy.read("missing_instances")
    same = {name: instances.column(name)[0].as_py() for name in ("shape_config", "dtype")}
    for name, value in same.items():
        missing = with_value(missing, name, value)
    rewrite(copy, "missing_instances", missing)
    said = f"({same['shape_config']}, {same['dtype']}) is an instance"
    assert any(said in problem for problem in problems(copy))


@pytest.mark.parametrize(
    ("column", "value", "said"),
    [
        ("overrides", '[[0,["no_such_argument"],7]]', "cannot be rendered"),
        ("overrides", "[[0", "cannot be rendered"),
        ("instance_sha256", "0" * 64, "cannot be rendered: the recipe of instance 000"),
        ("structure_sha256", "0" * 64, "structure_sha256 is not what its recipe gives"),
    ],
)
def test_a_recipe_that_does_not_give_its_hashes_is_found_by_the_deep_check(
    copy: Corpus, column: str, value: str, said: str
) -> None:
    rewrite(copy, "instances", with_value(copy.read("instances"), column, value))
    assert problems(copy) == []
    (problem,) = problems(copy, deep=True)
    assert said in problem


def test_a_subgraph_that_two_runs_generalized_keeps_the_rows_of_the_first(generalized: Corpus) -> None:
    names = ("generalizations", "instances", "missing_instances")
    tables = {name: generalized.read(name) for name in names}
    taken = tables["instances"].slice(0, 1)
    place = taken.select(["subgraph_sha256", "shape_config", "dtype"]).to_pylist()[0]
    missing = pa.Table.from_pylist([{**place, "reason": "timeout", "detail": ""}], tables["missing_instances"].schema)
    known = KnownKeys()
    known.of("generalizations").update((name,) for name in tables["generalizations"].column(0).to_pylist())
    novel = novel_rows({**tables, "missing_instances": missing}, known)
    assert {name: rows.num_rows for name, rows in novel.items()} == dict.fromkeys(names, 0)
    assert all(novel_rows(tables, KnownKeys())[name].equals(tables[name]) for name in names)
    assert pc.sum(tables["generalizations"].column("num_instances")).as_py() == tables["instances"].num_rows  # pyright: ignore[reportAttributeAccessIssue]


def test_a_variant_that_was_missing_gives_way_to_one_that_was_traced_later(tmp_path: Path) -> None:
    traced = make_generalized(tmp_path / "traced").read("variants").slice(0, 2)
    known = ("model_id", "shape_config", "dtype", "num_ops", "reason")
    untraced = [name for name in traced.schema.names if name not in known]
    missing = pa.Table.from_pylist(
        [{**row, **dict.fromkeys(untraced), "reason": "timeout"} for row in traced.to_pylist()], traced.schema
    )
    with Corpus.create(tmp_path / "corpus") as corpus:
        for rows in (missing, traced.slice(0, 1), missing):
            corpus.commit(corpus.stage({"variants": rows}, "run"), "run")
        kept = corpus.read("variants").sort_by([("shape_config", "ascending"), ("dtype", "ascending")])
    assert kept.num_rows == 2
    assert traced.slice(0, 1).to_pylist()[0] in kept.to_pylist()
    assert missing.slice(1).to_pylist()[0] in kept.to_pylist()


def test_the_summary_counts_what_could_not_differ_and_what_is_too_large_apart(copy: Corpus) -> None:
    rewrite(copy, "missing_instances", with_value(copy.read("missing_instances"), "reason", "dtype_invariant"))
    instances, missing = copy.read("instances").num_rows, copy.read("missing_instances").to_pylist()
    num_over = sum(row["reason"] == "over_max_bytes" for row in missing)
    num_invariant = sum(row["reason"] == "dtype_invariant" for row in missing)
    assert num_invariant and num_over and instances + len(missing) == 30
    every, cv = run_query(copy, "generalize_summary")
    assert every == cv | {"domain": "all"}
    assert every["instances_frac"] == pytest.approx(instances / (30 - num_over))
    assert every["distinct_frac"] == pytest.approx(instances / (30 - num_over - num_invariant))
    assert (every["over_max_bytes"], every["dtype_invariant"]) == (num_over, num_invariant)


def test_the_summary_of_a_corpus_without_instances_is_empty(tmp_path: Path) -> None:
    with Corpus.create(tmp_path / "corpus") as corpus:
        assert list(run_query(corpus, "generalize_summary")) == []
