"""The steps from instances to tasks, run in order on one connection: `storage/sql/bench_*.sql`, one file a step.

Each file is one SELECT over tables of the corpus and steps before it. Those up to selection are views of every
catalogue (`storage.queries.BENCH_VIEWS`), to be read by hand; a build makes tables of them: each step runs once.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

import duckdb
import pyarrow as pa

from passbench.op_sequence import OpSequence
from storage.queries import BENCH_VIEWS, query_text
from storage.schemas import SCHEMAS

SIGMA: Final = 16
BENCH_TABLES: Final = ("instances", "subgraphs", "models", "bench_builds")
"""Tables of a corpus that the steps read; of `bench_builds` the sigma, where none is given."""

EVALUATION_STEPS: Final = ("bench_evaluation", "bench_remaining")
TRAINING_STEPS: Final = ("bench_training", "bench_chosen", "bench_chosen_members")
CHECK_STEPS: Final = ("bench_cheapest",)


def make_groups(connection: duckdb.DuckDBPyConnection, sigma: int = SIGMA) -> None:
    """Make a table of each step up to selection, from `bench_instances` to `bench_sequences`.

    `connection` has the views of `BENCH_TABLES` (`Corpus.connect`). Raises ValueError where `sigma` is no count.
    """
    if sigma < 1:
        raise ValueError(f"sigma is {sigma}, one instance in so many cannot be drawn")
    connection.execute("SET VARIABLE sigma = ?", [sigma])
    _make(connection, BENCH_VIEWS)


def split_selected(connection: duckdb.DuckDBPyConnection, selected: Iterable[tuple[str, str]]) -> None:
    """Make `bench_evaluation` and `bench_remaining` of the (kind, op_sequence_xxh3) that were selected."""
    rows = [{"kind": kind, "op_sequence_xxh3": sequence} for kind, sequence in selected]
    _fill(connection, "bench_selection", pa.Table.from_pylist(rows, _SELECTION))
    _make(connection, EVALUATION_STEPS)


def choose_training(connection: duckdb.DuckDBPyConnection, barred: Iterable[str], *, every_group: bool = False) -> None:
    """Make `bench_training`, `bench_chosen` and `bench_chosen_members`, without the groups `barred` (task_id).

    With `every_group` the training side has all groups, else one per kind, sequence and rule.
    """
    _fill(connection, "bench_barred", pa.Table.from_pylist([{"task_id": task} for task in barred], _TASK_IDS))
    connection.execute("SET VARIABLE all_groups = ?", [every_group])
    _make(connection, TRAINING_STEPS)


def read_sequences(connection: duckdb.DuckDBPyConnection) -> list[OpSequence]:
    """Return the op sequences of each kind, by kind and hash."""
    columns = "kind, op_sequence, op_sequence_xxh3, num_instances, families, structures"
    rows = connection.execute(f"SELECT {columns} FROM bench_sequences ORDER BY ALL").fetchall()
    return [
        OpSequence(kind, tuple(ops), xxh3, num_instances, frozenset(families), frozenset(structures))
        for kind, ops, xxh3, num_instances, families, structures in rows
    ]


def groups_of(connection: duckdb.DuckDBPyConnection, step: str) -> list[dict[str, Any]]:
    """Return the groups of a step, by id: task_id, kind, rule, op_sequence_xxh3, num_members."""
    columns = ["task_id", "kind", "rule", "op_sequence_xxh3", "num_members"]
    rows = connection.execute(f"SELECT {', '.join(columns)} FROM {step} ORDER BY task_id").fetchall()
    return [dict(zip(columns, row, strict=True)) for row in rows]


def instances_to_run(connection: duckdb.DuckDBPyConnection, task_ids: Iterable[str]) -> dict[str, list[str]]:
    """Return, for each of these groups, the instances that stand for its members when they are run."""
    _fill(connection, "bench_asked", pa.Table.from_pylist([{"task_id": task} for task in task_ids], _TASK_IDS))
    _make(connection, CHECK_STEPS)
    found: dict[str, list[str]] = {}
    for task, instance in connection.execute("SELECT * FROM bench_cheapest ORDER BY ALL").fetchall():
        found.setdefault(task, []).append(instance)
    return found


def chosen_tables(connection: duckdb.DuckDBPyConnection) -> dict[str, pa.Table]:
    """Return the rows of `bench_tasks` and `bench_members`, as a corpus stages them."""
    steps = {"bench_tasks": "bench_chosen", "bench_members": "bench_chosen_members"}
    return {table: _read(connection, step, SCHEMAS[table]) for table, step in steps.items()}


_SELECTION: Final = pa.schema([("kind", pa.string()), ("op_sequence_xxh3", pa.string())])
_TASK_IDS: Final = pa.schema([("task_id", pa.string())])


def _make(connection: duckdb.DuckDBPyConnection, steps: Iterable[str]) -> None:
    for step in steps:
        _drop(connection, step)
        connection.execute(f"CREATE TABLE {step} AS {query_text(step)}")


def _fill(connection: duckdb.DuckDBPyConnection, table: str, rows: pa.Table) -> None:
    _drop(connection, table)
    connection.register("given_rows", rows)
    connection.execute(f"CREATE TABLE {table} AS FROM given_rows")
    connection.unregister("given_rows")


def _drop(connection: duckdb.DuckDBPyConnection, name: str) -> None:
    found = connection.execute(
        "SELECT table_type FROM information_schema.tables WHERE table_name = ?", [name]
    ).fetchone()
    if found:
        connection.execute(f"DROP {'VIEW' if found[0] == 'VIEW' else 'TABLE'} {name}")


def _read(connection: duckdb.DuckDBPyConnection, step: str, schema: pa.Schema) -> pa.Table:
    columns = ", ".join(f'"{name}"' for name in schema.names)
    return connection.sql(f"SELECT {columns} FROM {step}").to_arrow_table().cast(schema)
