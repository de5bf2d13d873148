"""Run a reader's SQL over a corpus: one SELECT, no effect on any file, errors in one line."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import duckdb

from storage import catalogue
from storage.corpus import Corpus
from storage.errors import UsageError
from storage.queries import mentioned_tables, query_text

_ROWS_PER_FETCH = 10_000


@dataclass(slots=True)
class Answer:
    """The rows of one query, to be read once; column names are made distinct by a numeric suffix."""

    columns: list[str]
    rows: Iterator[tuple[Any, ...]]


def run_sql(corpus: Corpus, sql: str, variables: Mapping[str, str | int] | None = None) -> Answer:
    """Run one SELECT (or DESCRIBE, SHOW, EXPLAIN) as of the newest manifest; `getvariable` in it finds `variables`.

    Raises UsageError with DuckDB's message when the SQL does not parse or fails, and for statements that would write;
    reading `rows` may raise it too.
    """
    try:
        _refuse_writing(sql)
        connection = corpus.connect(_tables(sql))
        for name, value in (variables or {}).items():
            connection.execute(f'SET VARIABLE "{name}" = ?', [value])
        with stopping():
            cursor = connection.execute(sql)
        names = _distinct([column[0] for column in cursor.description or ()])
    except duckdb.Error as error:
        raise _explained(error) from error
    return Answer(names, _fetch(cursor))


def run_query(corpus: Corpus, name: str, parameters: dict[str, object] | None = None) -> list[dict[str, Any]]:
    """Return the rows of the stored query `storage/sql/<name>.sql`, its `$names` bound to `parameters`.

    Raises CorpusError where a shard cannot be read.
    """
    sql = query_text(name)
    with corpus.connect(mentioned_tables(sql)) as connection, catalogue.reading(corpus.root):
        return _rows_of(connection.execute(sql, parameters or {}))


def run_queries(corpus: Corpus, queries: Mapping[str, str]) -> dict[str, list[dict[str, Any]]]:
    """Return the rows of several SELECTs of one manifest, by the names given; raises UsageError when one fails."""
    answers: dict[str, list[dict[str, Any]]] = {}
    try:
        with corpus.connect(mentioned_tables(" ".join(queries.values()))) as connection, stopping():
            for name, sql in queries.items():
                answers[name] = _rows_of(connection.execute(sql))
    except duckdb.Error as error:
        raise _explained(error) from error
    return answers


def _rows_of(cursor: duckdb.DuckDBPyConnection) -> list[dict[str, Any]]:
    names = [column[0] for column in cursor.description or ()]
    return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]


def _tables(sql: str) -> set[str] | None:
    """Name the tables to make views of; None (all) where the text asks what tables there are."""
    words = sql.lower()
    asks = any(
        word in words for word in ("show", "describe", "information_schema", "duckdb_", "sqlite_master", "summarize")
    )
    return None if asks else mentioned_tables(sql)


def _refuse_writing(sql: str) -> None:
    statements = duckdb.extract_statements(sql)
    if len(statements) != 1:
        raise UsageError(f"the SQL holds {len(statements)} statements", "give exactly one SELECT")
    kind = statements[0].type
    explains = kind == duckdb.StatementType.EXPLAIN and "analyze" not in sql.lower()
    if kind != duckdb.StatementType.SELECT and not explains:
        raise UsageError(f"the SQL is a {kind.name} statement and a corpus is read-only here", "give one SELECT")


def _fetch(cursor: duckdb.DuckDBPyConnection) -> Iterator[tuple[Any, ...]]:
    try:
        while rows := _fetch_some(cursor):
            yield from rows
    except duckdb.Error as error:
        raise _explained(error) from error


def _fetch_some(cursor: duckdb.DuckDBPyConnection) -> list[tuple[Any, ...]]:
    with stopping():
        return cursor.fetchmany(_ROWS_PER_FETCH)


@contextmanager
def stopping() -> Generator[None]:
    """Let Ctrl-C be what it is: DuckDB, where it notices it first, makes an error of its own of it."""
    try:
        yield
    except duckdb.InterruptException as error:
        raise KeyboardInterrupt from error
    except RuntimeError as error:
        if "interrupted" in str(error).lower():
            raise KeyboardInterrupt from error
        raise


def _explained(error: duckdb.Error) -> UsageError:
    is_damage = type(error) is duckdb.Error or isinstance(error, duckdb.IOException)
    remedy = catalogue.LOOK_FOR_DAMAGE if is_damage else "see the columns with `passnet tables --columns`"
    return UsageError(f"SQL failed: {catalogue.first_line(error)}", remedy)


def _distinct(names: list[str]) -> list[str]:
    seen: dict[str, int] = {}
    distinct: list[str] = []
    for name in names:
        seen[name] = seen.get(name, -1) + 1
        distinct.append(f"{name}_{seen[name]}" if seen[name] else name)
    return distinct
