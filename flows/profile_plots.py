"""The plots of a profile report, as SVG to stand inside a page: text stays text, ids are a plot's own.

A series without a number draws no bar; the paper is grey.
"""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_INK, _MUTED, _GRID, _PAPER = "#1b2733", "#66717d", "#e3e7eb", "#b4bcc4"
COLOURS = ("#2f6fab", "#e08a2e", "#1f8a70", "#b5478f", "#7a5ab5", "#a68a00", "#b3392b", "#0e8fa8")
_MOST_LABELLED = 24  # numbers above more bars touch each other


@dataclass(frozen=True, slots=True)
class Series:
    """One colour of a plot: its name, a number per place (None: not measured), and its place among the settings, -1 for
    the paper."""

    name: str
    values: Sequence[float | None]
    place: int

    @property
    def colour(self) -> str:
        """The colour that this setting has in every plot."""
        return _PAPER if self.place < 0 else COLOURS[self.place % len(COLOURS)]


def draw_shares(name: str, title: str, labels: Sequence[str], series: Sequence[Series]) -> str:
    """Return bars of shares, a group per label, a bar per series."""
    shown = [one for one in series if any(value is not None for value in one.values)]

    def draw(axes: Axes) -> None:
        width = 0.8 / max(len(shown), 1)
        is_labelled = len(shown) * len(labels) <= _MOST_LABELLED
        for number, one in enumerate(shown):
            known = [(place, value) for place, value in enumerate(one.values) if value is not None]
            left = [place + (number - (len(shown) - 1) / 2) * width for place, _ in known]
            shares = [100 * value for _, value in known]
            bars = axes.bar(left, shares, width=width * 0.94, color=one.colour, label=one.name)
            if is_labelled:
                axes.bar_label(bars, fmt="{:.1f}", padding=2, fontsize=8, color=_MUTED)
        axes.set_xticks(range(len(labels)), [label.replace(" ", "\n") for label in labels])
        axes.set_ylabel("%")
        axes.margins(y=0.15)

    return _drawn(name, title, draw)


def draw_histogram(name: str, title: str, bins: Sequence[tuple[Series, Sequence[float]]]) -> str:
    """Return shares over bins of speedup, four to an octave; a series' edges are the bins' lower ends."""

    def draw(axes: Axes) -> None:
        for series, edges in bins:
            shares = {round(edge, 6): 100 * (value or 0) for edge, value in zip(edges, series.values, strict=True)}
            steps = [2 ** (quarter / 4) for quarter in range(-16, 18)]
            heights = [shares.get(round(step, 6), 0.0) for step in steps[:-1]]
            axes.stairs(heights, steps, color=series.colour, label=series.name, linewidth=1.6)
        axes.axvline(1, color=_INK, linewidth=0.8, linestyle=(0, (4, 3)))
        axes.set_xscale("log", base=2)
        ticks = [1 / 16, 1 / 8, 1 / 4, 1 / 2, 1, 2, 4, 8, 16]
        axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
        axes.set_xlim(0.055, 2 ** (17 / 4))
        axes.set_xlabel("speedup (eager / backend); slower left of 1")
        axes.set_ylabel("% of valid pairs")
        axes.set_ylim(bottom=0)

    return _drawn(name, title, draw)


def _drawn(name: str, title: str, draw: Any) -> str:
    import matplotlib
    from matplotlib.figure import Figure

    style: dict[Any, Any] = {"svg.hashsalt": "passnet", "svg.fonttype": "none", "text.parse_math": False}
    style |= {"font.size": 9, "font.family": "sans-serif", "text.color": _INK, "axes.labelcolor": _MUTED}
    style |= {"xtick.color": _INK, "ytick.color": _MUTED}
    with matplotlib.rc_context(style):
        figure = Figure(figsize=(10.5, 3.4), layout="constrained")
        axes = figure.add_subplot()
        draw(axes)
        figure.legend(frameon=False, fontsize=8.5, loc="outside upper left", ncols=3)
        axes.grid(axis="y", color=_GRID, linewidth=0.8)
        axes.set_axisbelow(True)
        axes.tick_params(length=0)
        for side in ("top", "right", "left"):
            axes.spines[side].set_visible(False)
        axes.spines["bottom"].set_color(_GRID)
        drawn = io.StringIO()
        nothing = dict.fromkeys(("Date", "Creator", "Format", "Type"))
        figure.savefig(drawn, format="svg", transparent=True, metadata=nothing)
    return _embedded(name, title, drawn.getvalue())


def _embedded(name: str, title: str, svg: str) -> str:
    """Return the element alone under its title, its ids prefixed by the plot's name: a page holds several."""
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r'\bid="', f'id="{name}-', svg)
    svg = re.sub(r'href="#', f'href="#{name}-', svg)
    svg = re.sub(r"url\(#", f"url(#{name}-", svg)
    svg = svg.replace("<svg", f'<svg role="img" aria-label="{escape(title)}"', 1)
    return f"<h3>{escape(title)}</h3>{svg}"
