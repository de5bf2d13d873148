"""A kernel curve as a picture: K(P) as a step line over a graph's ops, what made it step up, and its fusible ranges.

A wide graph is broken into rows of one scale, between fusible ranges where it can be. An SVG, and the HTML page around
one, says what is known of an op where the mouse rests on it.
"""

from __future__ import annotations

import io
import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

from mining.prefix import Plateau, find_plateaus, lower_envelope

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_INK, _MUTED, _GRID, _FUSIBLE, _TOO_LONG = "#1b2733", "#66717d", "#e3e7eb", "#d5e6f5", "#d3dae0"
_COLOURS = {
    "extern_kernel": "#b3392b", "extern_producer": "#c8741a", "extern_consumer": "#a68a00",
    "no_shared_data": "#2f6fab", "too_little_shared_data": "#4a90c2", "iteration_space_differs": "#0e8fa8",
    "memory_order_differs": "#b5478f", "other_work_between": "#8a6d1d", "cycle": "#5c8a1f",
    "layout_copy": "#1f8a70", "backend_refused": "#5b6b2f", "no_candidate": "#7a5ab5", "no_kernel": "#9a6b5a",
}  # fmt: skip
_OTHER_COLOUR, _SUFFIXES = "#3c4650", (".html", ".pdf", ".png", ".svg")
_MAX_OPS = 3_000  # a picture of more is no longer looked at
_OPS_PER_ROW, _FEWEST_COLUMNS = 70, 32  # fewer leave the title no room
_OP_WIDTH, _CURVE_HEIGHT, _MARGIN, _GAP, _LINE_HEIGHT, _LEGEND_WIDTH = 0.25, 2.0, 0.6, 0.35, 0.24, 3.4  # inches
_LABEL_CHARS, _CHAR_HEIGHT = 20, 0.056  # inches; labels are rotated
_SVG = "{http://www.w3.org/2000/svg}"
_STYLE = "g[id^=op_]{pointer-events:all} g[id^=op_]:hover path{fill:#2f6fab!important;fill-opacity:.13!important}"
_PAGE = """<!doctype html><html lang="en"><meta charset="utf-8"><title>{}</title>
<style>svg {{max-width: 100%; height: auto}}</style>{}</html>
"""


@dataclass(frozen=True, slots=True)
class Step:
    """A row of `fusion_boundaries`: the op at `index` (from 0) brought `step` kernels more."""

    index: int
    step: int
    reason: str
    detail: str
    other_op: int | None


@dataclass(frozen=True)
class Curve:
    """A graph's kernel curve: its ops, K(1), K(2), ... (None: no count) and what made it step up."""

    op_names: Sequence[str]
    kernels: Sequence[int | None]
    steps: Sequence[Step]
    is_calibrated: bool

    @cached_property
    def plateaus(self) -> list[Plateau]:
        """Runs of ops that brought no further kernel, those too long included."""
        return find_plateaus(self.kernels)

    @cached_property
    def falls(self) -> dict[int, int]:
        """By op, how many kernels fewer there are than before it: what an earlier prefix stored is stored no more."""
        known = [(index, count) for index, count in enumerate(self.kernels) if count is not None]
        pairs = itertools.pairwise(known)
        return {index: before - count for (_, before), (index, count) in pairs if count < before}


def plot_curve(title: str, curve: Curve, path: Path) -> None:
    """Draw a curve into `path`; raises UsageError when that cannot be a picture's path or the graph is too large."""
    from flows.plotting import check_picture
    from storage.errors import UsageError
    from storage.filesystem import explained

    suffix = path.suffix.lower()
    if suffix not in _SUFFIXES:
        raise UsageError(f"{path} does not end like a picture", f"use one of {', '.join(_SUFFIXES)}")
    check_picture(path.with_suffix(".svg"))
    if len(curve.kernels) > _MAX_OPS:
        raise UsageError(f"the graph has {len(curve.kernels):,} ops", f"choose one of at most {_MAX_OPS:,}")
    import matplotlib

    style: dict[Any, Any] = {"svg.hashsalt": "passnet", "svg.fonttype": "none", "text.parse_math": False}
    with matplotlib.rc_context(style), explained(path):
        figure = _draw(title, curve)
        if suffix in (".png", ".pdf"):
            figure.savefig(path, dpi=110, facecolor="white")
        else:
            svg = _svg_of(figure, title, curve)
            path.write_text(_PAGE.format(escape(title), svg) if suffix == ".html" else svg, encoding="utf-8")


def rows_of(num_ops: int, plateaus: Sequence[Plateau], longest: int = _OPS_PER_ROW) -> list[tuple[int, int]]:
    """Break ops into even rows [start, end) of at most `longest`, between fusible ranges where these fit."""
    ranges = [plateau for plateau in plateaus if not plateau.is_too_long]
    rows, start = list[tuple[int, int]](), 0
    while (num_left := num_ops - start) > 0:
        end = start + -(-num_left // -(-num_left // longest))
        cut = next((found for found in ranges if found.start < end < found.end), None)
        if cut is not None and cut.end <= start + longest:
            end = cut.end
        elif cut is not None and cut.start > start:
            end = cut.start
        rows.append((start, end))
        start = end
    return rows


def op_tip(curve: Curve, index: int) -> str:
    """Say what is known of an op: its count, the step that it made, and the range that it is in."""
    count = curve.kernels[index]
    lines = [f"op {index} {curve.op_names[index]}", f"K({index + 1}) = {'unknown' if count is None else count}"]
    for step in curve.steps:
        if step.index == index:
            lines.append(f"+{step.step}, {step.reason}: {step.detail}")
            if step.other_op is not None:
                lines.append(f"could not join op {step.other_op} ({curve.op_names[step.other_op]})")
    if index in curve.falls:
        lines.append(f"-{curve.falls[index]}: what the prefix before stored is not stored any more, or fuses now")
    for plateau in curve.plateaus:
        if plateau.start <= index < plateau.end:
            kind = "range too long to be fusible" if plateau.is_too_long else "fusible range"
            lines.append(f"{kind}: ops {plateau.start} to {plateau.end - 1}")
    return "\n".join(lines)


def _draw(title: str, curve: Curve) -> Figure:
    """Lay out, in inches from the top, the title, the legend and the rows: each the curve and its ops' names."""
    from matplotlib.figure import Figure

    rows = rows_of(len(curve.kernels), curve.plateaus)
    num_columns = max([_FEWEST_COLUMNS, *(end - start for start, end in rows)])
    width = 2 * _MARGIN + num_columns * _OP_WIDTH
    handles, legend_columns = _legend_of(curve), int(width // _LEGEND_WIDTH)
    top = 0.45 + _LINE_HEIGHT * -(-len(handles) // legend_columns) + _GAP
    label_height = 0.15 + _CHAR_HEIGHT * max((len(_shortened(name)) for name in curve.op_names), default=0)
    row_height = _CURVE_HEIGHT + label_height + _GAP
    height = top + row_height * len(rows)
    figure = Figure(figsize=(width, height))
    figure.text(0.2 / width, 1 - 0.12 / height, title, va="top", fontsize=12, fontweight="bold", color=_INK)
    legend = figure.legend(handles=handles, ncols=legend_columns, frameon=False, fontsize=8, labelcolor=_INK)
    legend.set(loc="upper left", bbox_to_anchor=(0.2 / width, 1 - 0.45 / height))
    spans = [_span(curve, row) for row in rows]
    scale = max([4, *(high - low for low, high in spans)])
    for number, (row, (low, _)) in enumerate(zip(rows, spans, strict=True)):
        bottom = height - top - number * row_height - _CURVE_HEIGHT
        box = (_MARGIN / width, bottom / height, num_columns * _OP_WIDTH / width, _CURVE_HEIGHT / height)
        axes = figure.add_axes(box, xlim=(row[0], row[0] + num_columns), ylim=(low - 0.08 * scale, low + 1.18 * scale))
        _dress(axes, row)
        _draw_ranges(axes, curve, row)
        _draw_line(axes, curve, row)
        _draw_ops(axes, curve, row, label_height / _CURVE_HEIGHT)
    return figure


def _span(curve: Curve, row: tuple[int, int]) -> tuple[int, int]:
    counts = [count for count in [0, *curve.kernels][row[0] : row[1] + 1] if count is not None]
    return min(counts, default=0), max(counts, default=0)


def _legend_of(curve: Curve) -> list[Any]:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    heights: dict[str, list[int]] = {}
    for step in curve.steps:
        heights.setdefault(step.reason, []).append(step.step)
    handles: list[Any] = []
    for reason, own in sorted(heights.items(), key=lambda entry: (-len(entry[1]), entry[0])):
        label = f"{reason} ({len(own):,} ops, +{sum(own):,} kernels)"
        handles.append(Line2D([], [], color=_COLOURS.get(reason, _OTHER_COLOUR), marker="o", ms=4, lw=2, label=label))
    if curve.falls:
        label = f"falls: stored or fused otherwise ({len(curve.falls):,} ops, -{sum(curve.falls.values()):,} kernels)"
        handles.append(Line2D([], [], color=_INK, lw=1.2, label=label))
    for name, is_too_long in (("fusible range, with its number of ops", False), ("range too long to be fusible", True)):
        found = next((plateau for plateau in curve.plateaus if plateau.is_too_long == is_too_long), None)
        if found is not None:
            handles.append(Patch(label=name, **_style_of(found)))
    return [*handles, Line2D([], [], color=_MUTED, lw=1, ls=":", label="least count from there on")]


def _dress(axes: Axes, row: tuple[int, int]) -> None:
    from matplotlib.ticker import MaxNLocator

    marked = [op for op in range(*row) if op % 8 == 0]
    axes.set_xticks([op + 0.5 for op in marked], [str(op) for op in marked])
    axes.xaxis.tick_top()
    axes.yaxis.set_major_locator(MaxNLocator(5, integer=True))
    axes.tick_params(length=0, labelsize=7, labelcolor=_MUTED)
    axes.set_ylabel("kernels", fontsize=7, color=_MUTED)
    axes.grid(axis="y", color=_GRID, linewidth=0.7)
    axes.set_axisbelow(True)
    axes.set_frame_on(False)


def _draw_ranges(axes: Axes, curve: Curve, row: tuple[int, int]) -> None:
    for plateau in curve.plateaus:
        left, right = max(plateau.start, row[0]), min(plateau.end, row[1])
        if left < right:
            axes.axvspan(left + 0.08, right - 0.08, lw=0, zorder=0.4, **_style_of(plateau))
            number = axes.text((left + right) / 2, 0.98, str(plateau.end - plateau.start), ha="center", va="top")
            number.set(transform=axes.get_xaxis_transform(), fontsize=7, color=_MUTED)


def _style_of(plateau: Plateau) -> dict[str, Any]:
    hatched = {"facecolor": "white", "edgecolor": _TOO_LONG, "hatch": "////"}
    return hatched if plateau.is_too_long else {"facecolor": _FUSIBLE}


def _draw_line(axes: Axes, curve: Curve, row: tuple[int, int]) -> None:
    least, edges = lower_envelope(curve.kernels), range(row[0], row[1] + 1)
    for counts, colour, style in ((least, _MUTED, ":"), (curve.kernels, _INK, "-")):
        heights = [math.nan if count is None else count for count in counts[slice(*row)]]  # a gap
        axes.stairs(heights, edges, baseline=None, color=colour, ls=style, lw=1.2, clip_on=False, zorder=3)
    for step in curve.steps:
        x, high = step.index, curve.kernels[step.index]
        if row[0] <= x < row[1] and high is not None:
            (mark,) = axes.plot([x, x, x + 0.5, x + 1], [high - step.step, high, high, high], lw=2.2, marker="o", ms=4)
            mark.set(color=_COLOURS.get(step.reason, _OTHER_COLOUR), markevery=[2], solid_capstyle="butt")
            mark.set(clip_on=False, zorder=6, gid=f"step_{x}")


def _draw_ops(axes: Axes, curve: Curve, row: tuple[int, int], label_share: float) -> None:
    """Name ops below the curve, in the colour of their step, and lay what catches the mouse over each."""
    from matplotlib.patches import Rectangle

    colours = {step.index: _COLOURS.get(step.reason, _OTHER_COLOUR) for step in curve.steps}
    place = axes.get_xaxis_transform()
    for op in range(*row):
        style = {"rotation": 90, "ha": "center", "va": "top", "fontsize": 6.5, "color": colours.get(op, _MUTED)}
        axes.text(op + 0.5, -0.02, _shortened(curve.op_names[op]), transform=place, **style)
        column = Rectangle((op, -label_share), 1, 1 + label_share, transform=place, fill=False, lw=0)
        column.set(clip_on=False, zorder=5, gid=f"op_{op}")
        axes.add_patch(column)


def _shortened(name: str) -> str:
    return name if len(name) <= _LABEL_CHARS else name[: _LABEL_CHARS - 1] + "\N{HORIZONTAL ELLIPSIS}"


def _svg_of(figure: Figure, title: str, curve: Curve) -> str:
    """Return the picture as an SVG whose ops and steps say what they are where the mouse rests on them."""
    drawn = io.BytesIO()
    figure.savefig(drawn, format="svg", facecolor="white", metadata={"Date": None, "Title": title})
    ElementTree.register_namespace("", _SVG.strip("{}"))
    ElementTree.register_namespace("xlink", "http://www.w3.org/1999/xlink")
    root = ElementTree.fromstring(drawn.getvalue())
    for group in list(root.iter(f"{_SVG}g")):
        kind, _, number = group.get("id", "").partition("_")
        if kind in ("op", "step"):
            group.insert(0, ElementTree.Element(f"{_SVG}title"))
            group[0].text = op_tip(curve, int(number))
    ElementTree.SubElement(root, f"{_SVG}style").text = _STYLE
    return ElementTree.tostring(root, encoding="unicode")
