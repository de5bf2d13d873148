"""How a command prints rows: a table for people, JSON or CSV for programs.

A table in a terminal folds long cells; in a pipe a query's table is as wide as it needs, and a report, which people
read, is folded too. Null prints as `null` in a table, as null in JSON, as nothing in CSV and in a report; NaN and
infinity, which JSON lacks, are null there; decimals that doubles would round are strings.
"""

from __future__ import annotations

import csv
import json
import math
import os
import sys
from collections.abc import Iterable, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from rich.table import Table

_PIPE_WIDTH = 100_000
_REPORT_WIDTH = 120  # in a pipe where COLUMNS does not say another
_CELL_PADDING = 3
_NARROWEST = 8  # what is left to a column that is folded
_MAX_TEXT_ROWS = 1_000  # laying out more takes seconds, and nobody reads them


def print_table(columns: Sequence[str], rows: Iterable[Sequence[Any]], title: str | None = None) -> None:
    """Print rows as a table, the first thousand of them; reads all rows first, to know the widths."""
    cells = [list(row) for row in rows]
    num_left_out = max(len(cells) - _MAX_TEXT_ROWS, 0)
    del cells[_MAX_TEXT_ROWS:]
    print_rich(_table(columns, cells, title, null="null"))
    if num_left_out:
        typer.echo(f"{num_left_out:,} more rows are not shown: --csv and --json give all of them", err=True)


def print_report(columns: Sequence[str], rows: Sequence[Sequence[Any]], title: str | None = None) -> None:
    """Print a table that fits a screen, in a pipe too; numbers are to the right, columns of nulls left out."""
    kept = [position for position in range(len(columns)) if any(row[position] is not None for row in rows)]
    cells = [[row[position] for position in kept] for row in rows]
    _print_fitting(_table([columns[position] for position in kept], cells, title, null=""))


def print_fields(columns: Sequence[str], rows: Sequence[Sequence[Any]], title: str | None = None) -> None:
    """Print a table that fits a screen, in a pipe too, of fields as rows: values of any kind, to the left."""
    _print_fitting(_table(columns, rows, title, null="", is_left=True))


def print_rich(*renderables: object, width: int = _PIPE_WIDTH) -> None:
    """Print what rich renders to standard output, `width` wide where that is not a terminal."""
    from rich.console import Console

    console = Console(highlight=False, soft_wrap=False, width=None if sys.stdout.isatty() else width)
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


def short_ops(op_names: Sequence[str], num_chars: int = 40) -> str:
    """Name a sequence of ops in about `num_chars` characters: its first ones, and how many there are."""
    whole, kept = " ".join(op_names), list[str]()
    for name in op_names:
        if len(whole) > num_chars and kept and len(" ".join([*kept, name])) > num_chars:
            break
        kept.append(name)
    more = " \N{HORIZONTAL ELLIPSIS}" if len(kept) < len(op_names) else ""
    return f"{' '.join(kept)}{more} ({len(op_names):,} ops)"


def shown_cell(column: str, value: object) -> object:
    """Return a value as a table for people shows it: a share (`*_frac`) in percent, nothing for null."""
    if value is None:
        return ""
    return f"{value:.1%}" if column.endswith("_frac") and isinstance(value, float) else value


def human_bytes(count: int) -> str:
    """Return a size for people, in binary units."""
    size, unit = float(count), "B"
    for larger in ("KiB", "MiB", "GiB", "TiB"):
        if size < 1024:
            break
        size, unit = size / 1024, larger
    return f"{count} B" if unit == "B" else f"{size:.1f} {unit}"


def _print_fitting(table: Table) -> None:
    """Print a table as wide as the terminal, in a pipe as COLUMNS says.

    Columns of single words stay whole while there is room: the first, which names the rows, then the narrowest.
    """
    from rich.console import Console

    told = os.environ.get("COLUMNS", "")
    width = int(told) if told.isdecimal() and int(told) > 0 else _REPORT_WIDTH
    width = Console().width if sys.stdout.isatty() else width
    texts = [[str(cell) for cell in (column.header, *column.cells)] for column in table.columns]
    words = [max((len(word) for text in column for word in text.split()), default=0) for column in texts]
    room = width - _CELL_PADDING * (len(words) + 1)
    order = sorted(range(len(words)), key=lambda position: (position > 0, words[position]))
    for num_done, position in enumerate(order, start=1):
        room -= words[position]
        is_single = all(len(text.split()) < 2 for text in texts[position])
        table.columns[position].no_wrap = is_single and room >= _NARROWEST * (len(words) - num_done)
    print_rich(table, width=width)


def _table(
    columns: Sequence[str], cells: Sequence[Sequence[Any]], title: str | None, *, null: str, is_left: bool = False
) -> Table:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(title=title, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD)
    for position, column in enumerate(columns):
        numeric = not is_left and any(_is_number(row[position]) for row in cells)
        table.add_column(Text(column), justify="right" if numeric else "left", overflow="fold")
    for row in cells:
        table.add_row(*(_cell(value, null) for value in row))
    return table


def _cell(value: Any, null: str) -> Any:
    from rich.text import Text

    if value is None:
        return Text(null, style="dim")
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
