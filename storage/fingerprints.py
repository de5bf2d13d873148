"""Columns that need xxhash, filled in by the parent: children load torch and pyarrow alone."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import xxhash


def op_sequence_xxh3(op_sequence: Sequence[str]) -> str:
    """Return the xxh3-128 (32 hex characters) of the op names joined by newline."""
    return xxhash.xxh3_128_hexdigest("\n".join(op_sequence).encode())


def add_xxh3(table: pa.Table) -> pa.Table:
    """Fill column `op_sequence_xxh3` of a table that has it; return other tables as they are."""
    if "op_sequence_xxh3" not in table.column_names:
        return table
    position = table.column_names.index("op_sequence_xxh3")
    digests = [op_sequence_xxh3(names) for names in table.column("op_sequence").to_pylist()]
    return table.set_column(position, table.schema.field(position), pa.array(digests, pa.string()))
