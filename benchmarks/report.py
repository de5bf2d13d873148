"""Figures of one benchmark to lines on standard output, the last of them `ratio=<number>` (larger is better)."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from typing import Any


def make_parser(doc: str | None) -> argparse.ArgumentParser:
    """Return a parser with the option that all benchmarks share, `--json`."""
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="print all figures as one JSON object")
    return parser


def print_report(
    figures: dict[str, Any], ratio: float, *, as_json: bool, other_ratios: dict[str, float] | None = None
) -> None:
    """Print the figures, as one JSON object or as aligned lines, then `ratio_<name>=` of the other ratios and `ratio=`.

    Nested figures are printed as JSON only.
    """
    named = {f"ratio_{name}": value for name, value in (other_ratios or {}).items()}
    if as_json:
        print(json.dumps({**figures, **named, "ratio": ratio}, indent=1, sort_keys=True, default=str))
    else:
        scalars = {name: value for name, value in figures.items() if not isinstance(value, dict | list)}
        width = max((len(name) for name in scalars), default=0)
        for name, value in scalars.items():
            print(f"{name:<{width}}  {format_figure(value)}")
    for name, value in named.items():
        print(f"{name}={value:.4g}")
    print(f"ratio={ratio:.4g}")


def print_table(header: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    """Print rows in columns: the first to the left, the others to the right."""
    cells = [[format_figure(value) for value in row] for row in [header, *rows]]
    widths = [max(len(row[column]) for row in cells) for column in range(len(header))]
    for row in cells:
        first = row[0].ljust(widths[0])
        print("  ".join([first, *(cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True))]))


def format_figure(value: object) -> str:
    """Format a float to four significant digits, null as a dash, anything else as it prints."""
    if value is None:
        return "-"
    return f"{value:.4g}" if isinstance(value, float) else str(value)
