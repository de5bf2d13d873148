"""Stock queries give what plain loops over the rows give, run as they stand, and their page of the docs is theirs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import duckdb
import pytest

from storage.corpus import Corpus
from storage.errors import UsageError
from storage.fsck import fsck
from storage.query import run_sql
from storage.stock import STOCK_QUERIES, parameter_values, render_page, stock_query
from tests.storage.stock_answers import ANSWERS
from tests.storage.stock_corpus import write_corpus
from tests.storage.stock_rows import Rows

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    return write_corpus(tmp_path_factory.mktemp("stock") / "corpus")


@pytest.fixture(scope="module")
def rows(corpus: Corpus) -> Rows:
    return Rows(corpus)


def assert_same(given: Sequence[tuple[Any, ...]], expected: Sequence[tuple[Any, ...]]) -> None:
    """Compare rows in order, floats up to rounding."""
    assert len(given) == len(expected)
    for ours, theirs in zip(given, expected, strict=True):
        assert len(ours) == len(theirs)
        for value, wanted in zip(ours, theirs, strict=True):
            if isinstance(value, float) or isinstance(wanted, float):
                assert math.isclose(value, wanted, rel_tol=1e-9), (ours, theirs)
            else:
                assert value == wanted, (ours, theirs)


def test_the_corpus_is_sound_and_holds_two_runs(corpus: Corpus, rows: Rows) -> None:
    assert fsck(corpus, deep=True) == []
    assert {row["run_id"] for row in rows.tables["graph_sources"]} == {"run-1", "run-2"}


@pytest.mark.parametrize("name", STOCK_QUERIES)
def test_a_stock_query_gives_what_a_loop_over_the_rows_gives(corpus: Corpus, rows: Rows, name: str) -> None:
    given = list(run_sql(corpus, stock_query(name).sql).rows)
    assert given, "the corpus holds nothing for this query to find"
    assert_same(given, ANSWERS[name](rows))


def test_getitem_by_slices_is_a_view_and_by_index_tensors_a_copy(corpus: Corpus) -> None:
    query = "SELECT DISTINCT len(operands), is_view(op, operand_ops) FROM nodes WHERE op = 'getitem' ORDER BY ALL"
    assert list(run_sql(corpus, query).rows) == [(1, True), (3, False)]
    traffic = {op: calls for op, calls, *_ in run_sql(corpus, stock_query("memory_traffic_by_op").sql).rows}
    copies = "SELECT count(*) FROM nodes WHERE op = 'getitem' AND len(operands) > 1"
    assert [(traffic["getitem"],)] == list(run_sql(corpus, copies).rows)


def test_stock_queries_run_on_an_empty_corpus(tmp_path: Path) -> None:
    with Corpus.create(tmp_path / "empty") as empty, empty.connect() as connection:
        for name in STOCK_QUERIES:
            assert connection.execute(stock_query(name).sql).fetchall() == [], name


def test_the_files_run_by_hand_in_the_catalogue(corpus: Corpus, rows: Rows) -> None:
    with duckdb.connect(str(corpus.write_catalogue()), read_only=True) as connection:
        connection.execute("SET TimeZone = 'UTC'")
        for name in STOCK_QUERIES:
            text = (ROOT / "storage" / "sql" / "queries" / f"{name}.sql").read_text(encoding="utf-8")
            assert_same(connection.execute(text).fetchall(), ANSWERS[name](rows))
        connection.execute("SET VARIABLE op = 'gelu'")
        found = connection.execute(stock_query("producers_and_consumers").sql).fetchall()
        assert {neighbour for _, neighbour, *_ in found} == {"linear", "dropout"}


def test_every_file_is_a_stock_query_with_a_title_and_parameters_that_it_reads() -> None:
    files = {path.stem for path in (ROOT / "storage" / "sql" / "queries").iterdir()}
    assert files == set(STOCK_QUERIES)
    for query in map(stock_query, STOCK_QUERIES):
        assert query.title and query.answers.endswith(".")
        for parameter in query.parameters:
            default = parameter.default if parameter.default.isdecimal() else f"'{parameter.default}'"
            assert f"coalesce(getvariable('{parameter.name}'), {default})" in query.sql
        assert query.sql.count("getvariable") >= len(query.parameters)


def test_a_parameter_changes_what_is_asked(corpus: Corpus) -> None:
    query = stock_query("producers_and_consumers")
    given = list(run_sql(corpus, query.sql, parameter_values(query, ["op=gelu"])).rows)
    assert {(side, neighbour) for side, neighbour, *_ in given} == {("producer", "linear"), ("consumer", "dropout")}
    query = stock_query("op_bigrams")
    assert len(list(run_sql(corpus, query.sql, parameter_values(query, ["limit=2"])).rows)) == 2


@pytest.mark.parametrize("assignment", ["limit", "op=relu", "limit=many", "=", "limit=-1"])
def test_a_wrong_parameter_is_refused(assignment: str) -> None:
    with pytest.raises(UsageError, match="--set"):
        parameter_values(stock_query("op_bigrams"), [assignment])


def test_the_page_of_the_docs_is_the_queries() -> None:
    assert (ROOT / "docs" / "queries.md").read_text(encoding="utf-8") == render_page()
