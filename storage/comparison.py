"""Whether two corpora say the same: their tables without what equal runs may fill differently.

Volatile columns (times, seconds, run ids) are left out, rows are ordered by key, and repeated failures count once
(`failures` is append-only: each run adds its own).
"""

from __future__ import annotations

import pyarrow as pa

from storage.corpus import Corpus
from storage.schemas import APPEND_ONLY, KEYS, SCHEMAS, stable_columns


def comparable_tables(corpus: Corpus) -> dict[str, pa.Table]:
    """Return every table of a corpus in comparable form, by name."""
    manifest = corpus.manifest()
    return {table: _comparable(table, corpus.read(table)) for table in SCHEMAS if table in manifest.tables}


def differences(left: Corpus, right: Corpus) -> list[str]:
    """Say in one line per table what differs between two corpora; none when they say the same."""
    ours, theirs = comparable_tables(left), comparable_tables(right)
    lines: list[str] = []
    for table in SCHEMAS:
        if table not in ours or table not in theirs:
            lines += [f"{table}: only one corpus has it"] * ((table in ours) != (table in theirs))
        elif line := _difference(table, ours[table], theirs[table]):
            lines.append(line)
    return lines


def _comparable(table: str, rows: pa.Table) -> pa.Table:
    columns = stable_columns(table)
    rows = rows.select(columns).combine_chunks()
    if table in APPEND_ONLY:
        rows = rows.group_by(columns).aggregate([]).select(columns)
        return rows.sort_by([(name, "ascending") for name in columns])
    return rows.sort_by([(key, "ascending") for key in KEYS[table]])


def _difference(table: str, ours: pa.Table, theirs: pa.Table) -> str | None:
    keys = [name for name in KEYS[table] if name in ours.column_names]
    here, there = (set(zip(*(rows.column(key).to_pylist() for key in keys), strict=True)) for rows in (ours, theirs))
    if here != there:
        only_here, only_there = sorted(here - there, key=str), sorted(there - here, key=str)
        example = (only_here or only_there)[0]
        return (
            f"{table}: {len(only_here)} keys only in the first, {len(only_there)} only in the second, such as {example}"
        )
    if ours.num_rows != theirs.num_rows:
        return f"{table}: {ours.num_rows} rows in the first, {theirs.num_rows} in the second, of the same keys"
    differing = [name for name in ours.column_names if not ours.column(name).equals(theirs.column(name))]
    return f"{table}: columns {', '.join(differing)} differ" if differing else None
