"""A graph's folds as a picture: its ops from left to right, and over them the patterns that fold them, level by level.

Equal patterns have one colour; a legend below names each by its ops. A wide graph is broken into rows at the borders
of outermost patterns where it can be.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from flows.printing import short_ops
from mining.grammar import Grammar, Symbol

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_INK, _MUTED, _PLAIN = "#1b2733", "#66717d", "#eef1f4"
_OPS_PER_ROW = 64
_MAX_OPS = 2_000  # a picture of more is no longer looked at
_LABEL_CHARS = 20
_PALETTE = "tab20"
_LABEL_WIDTH = 0.256  # ops per character of a label at its font size
_LEGEND_COLUMNS = 4


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
    names = pattern_names(grammar, boxes)
    heights = [1.25 + 0.42 * tallest] * len(rows) + [0.2 * _num_lines(names)]
    figure, axes = plt.subplots(
        len(heights), 1, figsize=(18, 0.9 + sum(heights)), squeeze=False, gridspec_kw={"height_ratios": heights}
    )
    for row, cell in zip(rows, axes[:, 0], strict=False):
        _draw_row(cell, op_names, boxes, row, tallest, names)
    _draw_legend(axes[-1, 0], names)
    folded = sum(grammar.length(symbol) for symbol in parse if not isinstance(symbol, str))
    share = folded / len(op_names) if op_names else 0.0
    figure.suptitle(f"{title}: {len(op_names):,} ops, {share:.0%} within patterns", x=0.01, ha="left", color=_INK)
    figure.tight_layout(rect=(0, 0, 1, 0.985))
    with explained(path):
        figure.savefig(path, dpi=110, facecolor="white")
    plt.close(figure)


def pattern_names(grammar: Grammar, boxes: Sequence[Box]) -> dict[int, str]:
    """Name each pattern among boxes by its number and, in short, its ops; in the order of the numbers."""
    patterns = sorted({box.pattern for box in boxes})
    return {pattern: f"#{pattern} {short_ops(grammar.expansions[pattern])}" for pattern in patterns}


def _num_lines(names: Mapping[int, str]) -> int:
    return max(-(-len(names) // _LEGEND_COLUMNS), 1)


def _draw_legend(axes: Axes, names: Mapping[int, str]) -> None:
    num_lines = _num_lines(names)
    for position, (pattern, name) in enumerate(names.items()):
        column, line = divmod(position, num_lines)
        _draw_box(axes, column, column + 0.04, line, _colour(pattern))
        axes.text(column + 0.05, line + 0.5, name, va="center", fontsize=7.5, color=_INK)
    axes.set_xlim(0, _LEGEND_COLUMNS)
    axes.set_ylim(num_lines, 0)
    axes.axis("off")


def _draw_row(
    axes: Axes,
    op_names: Sequence[str],
    boxes: Sequence[Box],
    row: tuple[int, int],
    tallest: int,
    names: Mapping[int, str],
) -> None:
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
            label = _fitting_label(names[box.pattern], right - left)
            axes.text((left + right) / 2, box.height - 0.5, label, ha="center", va="center", fontsize=7, color=_INK)
    axes.set_xlim(start, max(end, start + _OPS_PER_ROW))
    axes.set_ylim(-4.6, tallest + 0.2)
    axes.text(start, tallest + 0.1, f"op {start}", fontsize=7, color=_MUTED, va="bottom")
    axes.axis("off")


def _fitting_label(name: str, num_ops: int) -> str:
    """Return a pattern's name, its number alone or nothing, whatever fits over so many ops."""
    return next((label for label in (name, name.split()[0]) if len(label) * _LABEL_WIDTH < num_ops), "")


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
