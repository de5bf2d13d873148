"""Arrow tables to and from the Parquet files of a corpus.

A shard is zstd Parquet with page index and content-defined chunks, its rows ordered by the table's key; its schema
metadata carries the schema version, the hash algorithms' version and the run. Row groups are cut by bytes, not rows
(texts reach 30 MB). Readers union by name: a column that an older shard lacks is null.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from storage.errors import UsageError
from storage.filesystem import explained, file_sha256, make_folder, publish, remove, temporary_name, unique_name
from storage.manifest import Shard
from storage.schemas import GRAPH_ALGORITHM, KEYS, SCHEMA_VERSION, SCHEMAS

ALL: Final = "all"
_ROW_GROUP_BYTES: Final = 32 << 20  # a reader that wants one graph decodes at most about this much


def write_shard(root: Path, table: str, rows: pa.Table, run_id: str, prefix: str = ALL) -> Shard:
    """Write rows as one durable file that no manifest names yet; raises WriteError or UsageError, leaving no file."""
    folder = root / table / f"prefix={prefix}"
    path = folder / unique_name(run_id, ".parquet")
    temporary = temporary_name(path)
    with explained(path):
        try:
            make_folder(folder)
            ordered = _ordered(table, rows)
            _write_parquet(temporary, ordered, run_id, _torch_version(table, ordered))
            publish(temporary, path)
        except BaseException:
            remove(temporary)
            raise
    first_key = ordered.column(KEYS[table][0])
    return Shard(
        path=path.relative_to(root).as_posix(),
        rows=ordered.num_rows,
        bytes=path.stat().st_size,
        sha256=file_sha256(path),
        min_key=first_key[0].as_py(),
        max_key=first_key[-1].as_py(),
        prefix=prefix,
        schema_version=SCHEMA_VERSION,
    )


def read_shards(
    root: Path, table: str, shards: Iterable[Shard], columns: Sequence[str] | None = None, filters: Any = None
) -> pa.Table:
    """Return the rows of some shards in the stored schema, or of `columns` in the order given.

    `filters` is a pyarrow expression. Raises UsageError, naming the shard, when a file cannot be read.
    """
    schema = SCHEMAS[table]
    names = list(columns) if columns is not None else schema.names
    wanted = pa.schema([schema.field(name) for name in names])
    parts = [_read_shard(root / shard.path, names, filters).cast(wanted) for shard in shards]
    return pa.concat_tables(parts) if parts else wanted.empty_table()


def check_shards(root: Path, shards: Iterable[Shard]) -> None:
    """Compare each file's size with the manifest's; raises UsageError that names the first that is not whole."""
    for shard in shards:
        if problem := shard_problem(root, shard):
            raise UsageError(problem, f"see `passnet fsck --corpus {root}`")


def shard_problem(root: Path, shard: Shard) -> str | None:
    """Say in one line what is wrong with the file of a shard, by its size alone; None when nothing is."""
    path = root / shard.path
    try:
        size = path.stat().st_size
    except OSError as error:
        return f"shard {path} cannot be read ({error.strerror})"
    if size != shard.bytes:
        return f"shard {path} is truncated or altered ({size} bytes, the manifest says {shard.bytes})"
    return None


def _ordered(table: str, rows: pa.Table) -> pa.Table:
    return rows.cast(SCHEMAS[table]).sort_by([(key, "ascending") for key in KEYS[table]])


def _torch_version(table: str, rows: pa.Table) -> str:
    if table != "graph_sources":
        return ""
    return ",".join(sorted(rows.column("torch_version").unique().to_pylist()))


def _write_parquet(path: Path, rows: pa.Table, run_id: str, torch_version: str) -> None:
    metadata = {"schema_version": str(SCHEMA_VERSION), "graph_algorithm": GRAPH_ALGORITHM, "run_id": run_id}
    if torch_version:
        metadata["torch_version"] = torch_version
    schema = rows.schema.with_metadata(metadata)
    rows_per_group = max(1, int(_ROW_GROUP_BYTES / max(rows.nbytes / max(rows.num_rows, 1), 1)))
    with pq.ParquetWriter(
        path,
        schema,
        compression="zstd",
        write_page_index=True,
        use_content_defined_chunking=True,
        sorting_columns=None,
    ) as writer:
        writer.write_table(rows.replace_schema_metadata(schema.metadata), row_group_size=rows_per_group)


def _read_shard(path: Path, names: list[str], filters: Any) -> pa.Table:
    try:
        present = set(pq.read_schema(path).names)
        found = pq.read_table(path, columns=[name for name in names if name in present], filters=filters)
    except (OSError, pa.ArrowException) as error:
        reason = " ".join(str(error).split())
        raise UsageError(f"shard {path} cannot be read ({reason})", "see `passnet fsck`") from error
    for name in names:
        if name not in present:
            found = found.append_column(name, pa.nulls(found.num_rows, _field_type(path, name)))
    return found.select(names)


def _field_type(path: Path, name: str) -> pa.DataType:
    return SCHEMAS[path.parent.parent.name].field(name).type
