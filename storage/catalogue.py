"""DuckDB views over the shards of one manifest: in memory for `passnet sql`, or as the file `corpus.duckdb`.

The in-memory database reads absolute paths and is locked to the corpus's shards. The file's views find the shards
beside the file itself, wherever it was moved and from whatever folder it is opened: DuckDB's default temp_directory
is the database's own path plus `.tmp`. When the file is ATTACHed to another database, which has another default, set
`SET VARIABLE corpus = '/path/of/corpus'` first.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
from collections.abc import Generator, Iterable
from pathlib import Path
from typing import Final

import duckdb
import pyarrow as pa

from storage.errors import CorpusError
from storage.filesystem import TEMPORARY_PREFIX, make_folder, publish, remove
from storage.lease import RUNS_FOLDER
from storage.manifest import Manifest, Shard
from storage.queries import MACROS, VIEWS, mentioned_tables, query_text, tables_of
from storage.reference import REFERENCES, reference_query
from storage.schemas import SCHEMA_VERSION, SCHEMAS, TABLE_DESCRIPTIONS, describe

FILE_NAME: Final = "corpus.duckdb"
LOOK_FOR_DAMAGE: Final = "see what is damaged: passnet fsck --deep"
_OUR_FAULTS: Final = (
    duckdb.BinderException,
    duckdb.CatalogException,
    duckdb.ParserException,
    duckdb.InterruptException,
    duckdb.InvalidInputException,
)
_BESIDE: Final = "coalesce(getvariable('corpus'), parse_dirpath(current_setting('temp_directory'))) || '/' || "
_DUCKDB_TYPES: Final = {
    pa.string(): "VARCHAR",
    pa.large_string(): "VARCHAR",
    pa.bool_(): "BOOLEAN",
    pa.int32(): "INTEGER",
    pa.int64(): "BIGINT",
    pa.float64(): "DOUBLE",
    pa.timestamp("us", tz="UTC"): "TIMESTAMPTZ",
}


def connect(root: Path, manifest: Manifest, tables: Iterable[str] | None = None) -> duckdb.DuckDBPyConnection:
    """Return an in-memory database with the views of `tables` (all by default), unable to write or read elsewhere.

    A view over tables, such as `current_failures`, may be named too and brings those that it reads.
    """
    connection = duckdb.connect(config={"python_enable_replacements": "false"})
    chosen = list(SCHEMAS)
    if tables is not None:
        wanted = mentioned_tables(" ".join(tables))
        chosen = [name for name in SCHEMAS if name in wanted]
    for macro in MACROS:
        connection.execute(query_text(macro))
    with reading(root):
        for table in chosen:
            connection.execute(_view(table, manifest.shards(table), str(root) + "/"))
    for name in REFERENCES:
        connection.execute(f"CREATE VIEW {name} AS {reference_query(name)}")
    for view in VIEWS:
        if tables_of(view) <= set(chosen):
            connection.execute(f"CREATE VIEW {view} AS {query_text(view)}")
    paths = [str(root / shard.path) for table in chosen for shard in manifest.shards(table)]
    connection.execute("SET TimeZone = 'UTC'")
    connection.execute(f"SET allowed_paths = [{', '.join(map(_quote, paths))}]")
    connection.execute("SET enable_external_access = false")
    connection.execute("SET lock_configuration = true")
    return connection


@contextlib.contextmanager
def reading(root: Path) -> Generator[None]:
    """Say of what DuckDB cannot read within that the corpus is damaged; a query that is wrong is our fault and rises.

    Raises CorpusError.
    """
    try:
        yield
    except _OUR_FAULTS:
        raise
    except duckdb.Error as error:
        raise CorpusError(f"{root} cannot be read ({first_line(error)})", LOOK_FOR_DAMAGE) from error


def first_line(error: duckdb.Error) -> str:
    """Return what DuckDB says, without the excerpt of the query."""
    return " ".join(str(error).split("\n\nLINE")[0].split())


def write(root: Path, manifest: Manifest) -> Path:
    """Rewrite the catalogue file in one step and return its path; writers wait for each other."""
    path = root / FILE_NAME
    temporary = path.with_name(TEMPORARY_PREFIX + FILE_NAME)
    make_folder(root / RUNS_FOLDER)
    with (root / RUNS_FOLDER / "catalogue.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        remove(temporary)
        _write_views(temporary, root, manifest)
        publish(temporary, path)
    return path


def duckdb_type(arrow_type: pa.DataType) -> str:
    """Return how DuckDB spells an Arrow type of the schemas."""
    if pa.types.is_list(arrow_type):
        return f"{duckdb_type(arrow_type.value_type)}[]"
    if pa.types.is_struct(arrow_type):
        fields = ", ".join(f'"{field.name}" {duckdb_type(field.type)}' for field in arrow_type)
        return f"STRUCT({fields})"
    return _DUCKDB_TYPES[arrow_type]


def _write_views(path: Path, root: Path, manifest: Manifest) -> None:
    with duckdb.connect(str(path)) as connection:
        connection.execute(f"SET VARIABLE corpus = {_quote(str(root))}")
        for macro in MACROS:
            connection.execute(query_text(macro))
        for table, schema in SCHEMAS.items():
            connection.execute(_view(table, manifest.shards(table), None))
            connection.execute(f"COMMENT ON VIEW {table} IS {_quote(TABLE_DESCRIPTIONS[table])}")
            for field in schema:
                connection.execute(f'COMMENT ON COLUMN {table}."{field.name}" IS {_quote(describe(field))}')
        for name in REFERENCES:
            connection.execute(f"CREATE VIEW {name} AS {reference_query(name)}")
        for view in VIEWS:
            connection.execute(f"CREATE VIEW {view} AS {query_text(view)}")
        connection.execute("CHECKPOINT")
    remove(path.with_name(path.name + ".wal"))


def _view(table: str, shards: tuple[Shard, ...], prefix: str | None) -> str:
    if not shards:
        return f"CREATE VIEW {table} AS {_no_rows(table)}"
    if prefix is None:
        files = f"list_transform([{', '.join(_quote(shard.path) for shard in shards)}], lambda path: {_BESIDE}path)"
    else:
        files = f"[{', '.join(_quote(prefix + shard.path) for shard in shards)}]"
    columns = ", ".join(f'"{field.name}"' for field in SCHEMAS[table])
    if all(shard.schema_version == SCHEMA_VERSION for shard in shards):
        return f"CREATE VIEW {table} AS SELECT {columns} FROM read_parquet({files}, hive_partitioning = false)"
    source = f"SELECT * FROM read_parquet({files}, hive_partitioning = false, union_by_name = true)"
    return f"CREATE VIEW {table} AS SELECT {columns} FROM ({_no_rows(table)} UNION ALL BY NAME {source})"


def _no_rows(table: str) -> str:
    """Name every column of a table, for shards that were written before some of them were added."""
    columns = ", ".join(f'CAST(NULL AS {duckdb_type(field.type)}) AS "{field.name}"' for field in SCHEMAS[table])
    return f"SELECT {columns} WHERE false"


def _quote(text: str) -> str:
    return "'" + os.fspath(text).replace("'", "''") + "'"
