"""The figures of `passnet stats` as one picture: domains, redundancy, node counts, commonest ops."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Rows = list[dict[str, Any]]

_INK, _MUTED, _BLUE, _ORANGE, _GRID = "#1b2733", "#66717d", "#2f6fab", "#e08a2e", "#e3e7eb"
_SUFFIXES = frozenset({".png", ".svg", ".pdf"})


def plot_stats(parts: dict[str, Rows], path: Path) -> None:
    """Draw the parts of `passnet stats` into `path`; raises UsageError when that cannot be a picture's path."""
    from storage.filesystem import explained

    check_picture(path)
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    style = {"font.size": 10, "text.color": _INK, "axes.labelcolor": _MUTED, "xtick.color": _MUTED, "ytick.color": _INK}
    with matplotlib.rc_context(cast(Any, style)):
        figure, axes = plt.subplots(2, 2, figsize=(13, 9), width_ratios=(1, 1.15), height_ratios=(1.25, 1))
        _draw_bins(axes[0][0], parts["node_bins"])
        _draw_ops(axes[0][1], parts["ops"])
        _draw_sources(axes[1][0], parts["redundancy"])
        _draw_domains(axes[1][1], parts["domains"])
        figure.suptitle(_headline(parts["totals"][0]), x=0.02, ha="left", fontsize=14, fontweight="bold")
        figure.tight_layout(rect=(0, 0, 1, 0.96), h_pad=2.5, w_pad=2.5)
        with explained(path):
            figure.savefig(path, dpi=150, facecolor="white")
        plt.close(figure)


def check_picture(path: Path) -> None:
    """Refuse a path that cannot be a picture's; raises UsageError."""
    from storage.errors import UsageError

    if path.suffix.lower() not in _SUFFIXES:
        raise UsageError(f"{path} does not end like a picture", f"use one of {', '.join(sorted(_SUFFIXES))}")
    if not path.absolute().parent.is_dir():
        raise UsageError(f"{path.parent} is not a folder", "create it, or draw elsewhere")


def _headline(totals: dict[str, Any]) -> str:
    return (
        f"{totals['distinct_graphs']:,} distinct graphs of {totals['traced_models']:,} models, {totals['nodes']:,} ops"
    )


def _draw_bins(axes: Axes, bins: Rows) -> None:
    positions = range(len(bins))
    bars = axes.bar(positions, [row["distinct_graphs"] for row in bins], color=_BLUE, width=0.86)
    axes.bar_label(bars, fmt="{:,.0f}", padding=2, fontsize=8, color=_MUTED)
    labels = [
        str(row["from_ops"]) if row["from_ops"] == row["to_ops"] else f"{row['from_ops']}-{row['to_ops']}"
        for row in bins
    ]
    axes.set_xticks(positions, labels, rotation=35, ha="right", fontsize=8)
    axes.set_xlabel("ops in a graph (log2 bins)")
    _dress(axes, "Size of graphs", grid="y")


def _draw_ops(axes: Axes, ops: Rows) -> None:
    shown = ops[:15][::-1]
    bars = axes.barh([row["op"] for row in shown], [row["occurrences"] for row in shown], color=_BLUE, height=0.74)
    labels = [f"{row['occurrences']:,}  ({100 * row['occurrences_frac']:.0f} %)" for row in shown]
    axes.bar_label(bars, labels, padding=4, fontsize=8, color=_MUTED)
    axes.margins(x=0.2)
    axes.set_xlabel("occurrences in distinct graphs")
    _dress(axes, "Commonest ops", grid="x")


def _draw_sources(axes: Axes, sources: Rows) -> None:
    shown = sources[:10][::-1]
    names = [row["source"] for row in shown]
    axes.barh(names, [row["traced_graphs"] for row in shown], color=_ORANGE, height=0.5, label="repeated")
    bars = axes.barh(names, [row["distinct_graphs"] for row in shown], color=_BLUE, height=0.5, label="distinct")
    for bar, row in zip(bars, shown, strict=True):
        text = f"{100 * row['redundancy_frac']:.1f} % redundant"
        axes.annotate(
            text,
            (row["traced_graphs"], bar.get_y() + bar.get_height() / 2),
            xytext=(5, 0),
            textcoords="offset points",
            va="center",
            fontsize=8,
            color=_MUTED,
        )
    axes.margins(x=0.25)
    _center(axes, len(shown))
    axes.set_xlabel("graphs traced")
    axes.legend(frameon=False, fontsize=8, loc="lower right", bbox_to_anchor=(1, 1), ncols=2)
    _dress(axes, "Redundancy per source", grid="x")


def _draw_domains(axes: Axes, domains: Rows) -> None:
    shown = domains[::-1]
    bars = axes.barh(
        [row["domain"] for row in shown], [row["distinct_graphs"] for row in shown], color=_BLUE, height=0.5
    )
    axes.bar_label(bars, fmt="{:,.0f}", padding=4, fontsize=8, color=_MUTED)
    axes.margins(x=0.12)
    _center(axes, len(shown))
    axes.set_xlabel("distinct graphs")
    _dress(axes, "Graphs per domain", grid="x")


def _center(axes: Axes, num_bars: int) -> None:
    """Keep few bars slim: leave room for five."""
    room = max(5 - num_bars, 0) / 2
    axes.set_ylim(-0.5 - room, num_bars - 0.5 + room)


def _dress(axes: Axes, title: str, grid: str) -> None:
    axes.set_title(title, loc="left", fontsize=11, fontweight="bold", color=_INK)
    axes.grid(axis="x" if grid == "x" else "y", color=_GRID, linewidth=0.8)
    axes.set_axisbelow(True)
    axes.tick_params(length=0)
    for side in ("top", "right", "left" if grid == "x" else "bottom"):
        axes.spines[side].set_visible(False)
    for side in ("left", "bottom"):
        axes.spines[side].set_color(_GRID)
