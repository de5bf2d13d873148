"""A graph's folds as a picture: its ops from left to right, and over them the patterns that fold them, level by level.

Equal patterns have one colour. A wide graph is broken into rows at the borders of outermost patterns where it can be.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from mining.grammar import Grammar, Symbol

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_INK, _MUTED, _PLAIN = "#1b2733", "#66717d", "#eef1f4"
_OPS_PER_ROW = 64
_MAX_OPS = 2_000  # a picture of more is no longer looked at
_LABEL_CHARS = 20
_PALETTE = "tab20"
_CHAR_WIDTH = 0.16  # ops per character of a label at its font size


@dataclass(frozen=True, slots=True)
class Box:
    """A pattern over ops [start, end); `height` counts the levels of patterns under it, from 1."""

    start: int
    end: int
    pattern: int
    height: int


def boxes_of(grammar: Grammar, parse: Sequence[Symbol]) -> list[Box]:
    """Return every pattern of a parse, nested ones too, outer before inner, by start."""
    boxes: list[Box] = []
    start = 0
    for symbol in parse:
        boxes += _nested(grammar, symbol, start)
        start += grammar.length(symbol)
    return boxes


def _nested(grammar: Grammar, symbol: Symbol, start: int) -> Iterator[Box]:
    if isinstance(symbol, str):
        return
    yield Box(start, start + grammar.length(symbol), symbol, grammar.depths[symbol])
    for part in grammar.patterns[symbol].body:
        yield from _nested(grammar, part, start)
        start += grammar.length(part)


def rows_of(grammar: Grammar, parse: Sequence[Symbol], num_ops: int = _OPS_PER_ROW) -> list[tuple[int, int]]:
    """Break ops into rows [start, end) of at most `num_ops`, between outermost symbols where these fit."""
    rows: list[tuple[int, int]] = []
    row_start = start = 0
    for symbol in parse:
        end = start + grammar.length(symbol)
        if end - row_start > num_ops and start > row_start:
            rows.append((row_start, start))
            row_start = start
        while end - row_start > num_ops:
            rows.append((row_start, row_start + num_ops))
            row_start += num_ops
        start = end
    if start > row_start:
        rows.append((row_start, start))
    return rows


def plot_motifs(title: str, op_names: Sequence[str], grammar: Grammar, parse: Sequence[Symbol], path: Path) -> None:
    """Draw a parse into `path`; raises UsageError when that cannot be a picture's path or the graph is too large."""
    from flows.plotting import check_picture
    from storage.errors import UsageError
    from storage.filesystem import explained

    check_picture(path)
    if len(op_names) > _MAX_OPS:
        raise UsageError(f"the graph has {len(op_names):,} ops", f"choose one of at most {_MAX_OPS:,}")
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    boxes, rows = boxes_of(grammar, parse), rows_of(grammar, parse)
    tallest = max((box.height for box in boxes), default=0)
    row_height = 1.25 + 0.42 * tallest
    figure, axes = plt.subplots(len(rows), 1, figsize=(18, 0.9 + row_height * len(rows)), squeeze=False)
    for (start, end), (cell,) in zip(rows, axes, strict=True):
        _draw_row(cell, op_names, boxes, (start, end), tallest)
    folded = sum(grammar.length(symbol) for symbol in parse if not isinstance(symbol, str))
    share = folded / len(op_names) if op_names else 0.0
    figure.suptitle(f"{title}: {len(op_names):,} ops, {share:.0%} within patterns", x=0.01, ha="left", color=_INK)
    figure.tight_layout(rect=(0, 0, 1, 0.985))
    with explained(path):
        figure.savefig(path, dpi=110, facecolor="white")
    plt.close(figure)


def _draw_row(axes: Axes, op_names: Sequence[str], boxes: Sequence[Box], row: tuple[int, int], tallest: int) -> None:
    start, end = row
    for op in range(start, end):
        _draw_box(axes, op, op + 1, -1, _PLAIN)
        axes.text(
            op + 0.5, -1.15, _shortened(op_names[op]), rotation=90, ha="center", va="top", fontsize=6.5, color=_INK
        )
    for box in boxes:
        left, right = max(box.start, start), min(box.end, end)
        if left < right:
            _draw_box(axes, left, right, box.height - 1, _colour(box.pattern))
            label = f"#{box.pattern}"
            if len(label) * _CHAR_WIDTH * 1.6 < right - left:
                middle = (left + right) / 2
                axes.text(middle, box.height - 0.5, label, ha="center", va="center", fontsize=7, color=_INK)
    axes.set_xlim(start, max(end, start + _OPS_PER_ROW))
    axes.set_ylim(-4.6, tallest + 0.2)
    axes.text(start, tallest + 0.1, f"op {start}", fontsize=7, color=_MUTED, va="bottom")
    axes.axis("off")


def _shortened(name: str) -> str:
    return name if len(name) <= _LABEL_CHARS else name[: _LABEL_CHARS - 1] + "\N{HORIZONTAL ELLIPSIS}"


def _draw_box(axes: Axes, left: float, right: float, bottom: float, colour: Any) -> None:
    from matplotlib.patches import Rectangle

    axes.add_patch(Rectangle((left, bottom), right - left, 0.94, facecolor=colour, edgecolor="white", linewidth=0.8))


def _colour(pattern: int) -> Any:
    import matplotlib

    palette = cast(Any, matplotlib.colormaps[_PALETTE])
    red, green, blue, _ = palette(pattern % palette.N)
    return tuple(0.35 + 0.65 * part for part in (red, green, blue))  # pale, so that labels are read
