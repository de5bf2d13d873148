"""Small tables of `data/` that views compare a corpus with: CSV files as SQL that reads no file, so that it holds
wherever a catalogue is moved to."""

from __future__ import annotations

import csv
from functools import lru_cache
from pathlib import Path
from typing import Final

REFERENCES: Final[dict[str, dict[str, str]]] = {
    "device_peaks": {
        "device_name": "VARCHAR",
        "memory_bytes_per_s": "DOUBLE",
        "float32_flop_per_s": "DOUBLE",
        "tf32_flop_per_s": "DOUBLE",
        "float16_flop_per_s": "DOUBLE",
        "bfloat16_flop_per_s": "DOUBLE",
        "source": "VARCHAR",
    },
    "paper_profile": {
        "view": "VARCHAR",
        "row": "VARCHAR",
        "figure": "VARCHAR",
        "value": "DOUBLE",
        "place": "VARCHAR",
        "line": "INTEGER",
    },
    "paper_bench": {
        "view": "VARCHAR",
        "row": "VARCHAR",
        "figure": "VARCHAR",
        "value": "DOUBLE",
        "place": "VARCHAR",
        "line": "INTEGER",
    },
}
"""Columns, with DuckDB's types, of each file `data/<name>.csv`. device_peaks: what a device can move and compute at
most, dense, by the name that its driver gives it. paper_profile: figures of the paper's appendix G, by the view, row
and column that have ours, with their place there and its line in the paper's text. paper_bench: section 3.4's."""

_FOLDER: Final = Path(__file__).resolve().parents[1] / "data"


@lru_cache
def reference_query(name: str) -> str:
    """Return a SELECT that gives the rows of a reference table, in the file's order; empty numbers are null.

    Raises ValueError where the file's columns are not those described.
    """
    columns = REFERENCES[name]
    with (_FOLDER / f"{name}.csv").open(encoding="utf-8", newline="") as stream:
        reader = csv.DictReader(stream)
        if reader.fieldnames != list(columns):
            raise ValueError(f"data/{name}.csv has columns {reader.fieldnames}, not {list(columns)}")
        rows = [", ".join(_literal(row[column], columns[column]) for column in columns) for row in reader]
    names = ", ".join(f'"{column}"' for column in columns)
    return f"SELECT * FROM (VALUES {', '.join(f'({row})' for row in rows)}) AS {name} ({names})"


def _literal(cell: str, kind: str) -> str:
    quoted = "'" + cell.replace("'", "''") + "'"
    return f"CAST({'NULL' if kind != 'VARCHAR' and not cell else quoted} AS {kind})"
