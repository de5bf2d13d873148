"""How a command prints rows: a table for people, JSON or CSV for programs.

A table in a terminal folds long cells; in a pipe it is as wide as it needs. Null prints as `null` in a table, as
null in JSON, as nothing in CSV; NaN and infinity, which JSON lacks, are null there; decimals that doubles
would round are strings.
"""

from __future__ import annotations

import csv
import json
import math
import sys
from collections.abc import Iterable, Sequence
from decimal import Decimal
from typing import Any

import typer

_PIPE_WIDTH = 100_000
_MAX_TEXT_ROWS = 1_000  # laying out more takes seconds, and nobody reads them


def print_table(columns: Sequence[str], rows: Iterable[Sequence[Any]], title: str | None = None) -> None:
    """Print rows as a table, the first thousand of them; reads all rows first, to know the widths."""
    from rich import box
    from rich.table import Table

    table = Table(title=title, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD)
    cells = [list(row) for row in rows]
    num_left_out = max(len(cells) - _MAX_TEXT_ROWS, 0)
    del cells[_MAX_TEXT_ROWS:]
    for position, column in enumerate(columns):
        numeric = any(_is_number(row[position]) for row in cells)
        table.add_column(column, justify="right" if numeric else "left", overflow="fold")
    for row in cells:
        table.add_row(*(_cell(value) for value in row))
    print_rich(table)
    if num_left_out:
        typer.echo(f"{num_left_out:,} more rows are not shown: --csv and --json give all of them", err=True)


def print_rich(*renderables: object) -> None:
    """Print what rich renders to standard output, unfolded where that is not a terminal."""
    from rich.console import Console

    console = Console(highlight=False, soft_wrap=False, width=None if sys.stdout.isatty() else _PIPE_WIDTH)
    for renderable in renderables:
        console.print(renderable)


def print_json(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Print rows as one JSON array of objects, a row per line."""
    separator = "[\n"
    for row in rows:
        fields = {column: _jsonable(value) for column, value in zip(columns, row, strict=True)}
        typer.echo(separator + json.dumps(fields, ensure_ascii=False), nl=False)
        separator = ",\n"
    typer.echo("[]" if separator == "[\n" else "\n]")


def print_csv(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Print rows as CSV with a header; nested values as JSON."""
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(columns)
    for row in rows:
        writer.writerow([_nested(value) for value in row])


def human_bytes(count: int) -> str:
    """Return a size for people, in binary units."""
    size, unit = float(count), "B"
    for larger in ("KiB", "MiB", "GiB", "TiB"):
        if size < 1024:
            break
        size, unit = size / 1024, larger
    return f"{count} B" if unit == "B" else f"{size:.1f} {unit}"


def _cell(value: Any) -> Any:
    from rich.text import Text

    if value is None:
        return Text("null", style="dim")
    return Text(f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value))


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _jsonable(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, Decimal):
        return float(value) if Decimal(repr(float(value))) == value else str(value)
    if isinstance(value, dict):
        return {str(key): _jsonable(element) for key, element in value.items()}
    if isinstance(value, list | tuple):
        return [_jsonable(element) for element in value]
    return value.isoformat() if hasattr(value, "isoformat") else str(value)


def _nested(value: Any) -> Any:
    return json.dumps(_jsonable(value)) if isinstance(value, dict | list | tuple) else value
