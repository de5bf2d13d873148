"""The tasks of PassBench as one picture: how large they are, which rules made them, what selection covers."""

from __future__ import annotations

from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from flows.plotting import check_picture

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Rows = list[dict[str, Any]]

_INK, _MUTED, _GRID = "#1b2733", "#66717d", "#e3e7eb"
_COLOURS = {"fusible": "#2f6fab", "classical": "#e08a2e", "single_op": "#1f8a70"}
_PAPER_LARGEST, _PAPER_MEAN = 396, 10  # section 3.4, fusible evaluation tasks


def plot_tasks(parts: dict[str, Rows], path: Path) -> None:
    """Draw the parts of `flows.bench_stats.read_stats`; raises UsageError where `path` cannot be a picture's."""
    from storage.filesystem import explained

    check_picture(path)
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    style = {"font.size": 10, "text.color": _INK, "axes.labelcolor": _MUTED, "xtick.color": _MUTED, "ytick.color": _INK}
    with matplotlib.rc_context(cast(Any, style)):
        figure, axes = plt.subplots(2, 2, figsize=(13, 9))
        _draw_ranks(axes[0][0], parts["sizes"], "eval", "Evaluation tasks by size: the long tail")
        _draw_ranks(axes[0][1], parts["sizes"], "train", "Training tasks by size")
        _draw_rules(axes[1][0], parts["rules"])
        _draw_coverage(axes[1][1], parts["selections"])
        figure.suptitle(_headline(parts["splits"]), x=0.02, ha="left", fontsize=14, fontweight="bold")
        figure.tight_layout(rect=(0, 0, 1, 0.96), h_pad=2.5, w_pad=2.5)
        with explained(path):
            figure.savefig(path, dpi=150, facecolor="white")
        plt.close(figure)


def _headline(splits: Rows) -> str:
    counts = {side: sum(row["num_tasks"] for row in splits if row["split"] == side) for side in ("eval", "train")}
    return f"PassBench: {counts['eval']:,} evaluation tasks, {counts['train']:,} training tasks"


def _draw_ranks(axes: Axes, sizes: Rows, split: str, title: str) -> None:
    """Draw tasks in the order of their sizes, largest first, on two logarithmic axes."""
    for kind, colour in _COLOURS.items():
        rows = sorted(
            (row for row in sizes if (row["kind"], row["split"]) == (kind, split)), key=lambda row: -row["num_members"]
        )
        if not rows:
            continue
        ranks = list(accumulate(row["num_tasks"] for row in rows))
        steps = [1, *(rank + 1 for rank in ranks[:-1])]
        places = [place for pair in zip(steps, ranks, strict=True) for place in pair]
        heights = [row["num_members"] for row in rows for _ in range(2)]
        axes.plot(places, heights, color=colour, linewidth=2, label=f"{kind.replace('_', ' ')} ({ranks[-1]:,})")
    if split == "eval":
        for level, text in ((_PAPER_LARGEST, "paper: largest 396"), (_PAPER_MEAN, "paper: mean 10")):
            axes.axhline(level, color=_MUTED, linewidth=0.8, linestyle=(0, (4, 4)))
            place = axes.get_yaxis_transform()  # at the right edge, where the curves are low
            style: dict[str, Any] = {"fontsize": 8, "color": _MUTED, "ha": "right"}
            axes.annotate(text, (1, level), xycoords=place, xytext=(-4, 3), textcoords="offset points", **style)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel("rank of the task")
    axes.set_ylabel("subgraphs of the task")
    if axes.get_legend_handles_labels()[0]:
        axes.legend(frameon=False, fontsize=8)
    _dress(axes, title)


def _draw_rules(axes: Axes, rules: Rows) -> None:
    names = ("single", "triple", "cross_shape", "cross_dtype")
    sides = [(kind, split) for kind in _COLOURS for split in ("eval", "train")]
    shown = [side for side in sides if any((row["kind"], row["split"]) == side for row in rules)]
    width = 0.8 / max(len(shown), 1)
    for number, (kind, split) in enumerate(shown):
        counts = {row["rule"]: row["num_tasks"] for row in rules if (row["kind"], row["split"]) == (kind, split)}
        left = [place + (number - (len(shown) - 1) / 2) * width for place in range(len(names))]
        heights = [counts.get(name, 0) for name in names]
        label = f"{kind.replace('_', ' ')}, {split}"
        alpha = 1.0 if split == "eval" else 0.55
        bars = axes.bar(left, heights, width=width * 0.94, color=_COLOURS[kind], alpha=alpha, label=label)
        axes.bar_label(bars, fmt="{:,.0f}", padding=2, fontsize=7, color=_MUTED, rotation=90)
    axes.set_xticks(range(len(names)), [name.replace("_", " ") for name in names])
    axes.set_yscale("symlog")
    axes.set_ylabel("tasks")
    axes.margins(y=0.2)
    _legend(axes)
    _dress(axes, "Rules that made them")


def _draw_coverage(axes: Axes, selections: Rows) -> None:
    figures = ("transition_frac", "transition_weighted_frac", "op_frac", "op_weighted_frac", "family_frac")
    shades = {"hmm": 1.0, "markov": 0.6, "random": 0.3}
    shown = [row for row in selections if row["num_selected"]]
    width = 0.8 / max(len(shown), 1)
    for number, row in enumerate(shown):
        left = [place + (number - (len(shown) - 1) / 2) * width for place in range(len(figures))]
        heights = [100 * (row[figure] or 0) for figure in figures]
        label = f"{row['kind']}, {row['method']}"
        axes.bar(left, heights, width * 0.94, color=_COLOURS[row["kind"]], alpha=shades[row["method"]], label=label)
    labels = ("op pairs", "op pairs,\nweighted", "ops", "ops,\nweighted", "families")
    axes.set_xticks(range(len(figures)), labels)
    axes.set_ylabel("% of what the corpus has")
    _legend(axes)
    _dress(axes, "What selection covers")


def _legend(axes: Axes) -> None:
    """Put the legend below the plot, where there is something to name."""
    if axes.get_legend_handles_labels()[0]:
        axes.legend(frameon=False, fontsize=8, ncols=3, loc="upper center", bbox_to_anchor=(0.5, -0.13))


def _dress(axes: Axes, title: str) -> None:
    axes.set_title(title, loc="left", fontsize=11, fontweight="bold", color=_INK)
    axes.grid(axis="y", color=_GRID, linewidth=0.8)
    axes.set_axisbelow(True)
    axes.tick_params(which="both", length=0)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    for side in ("left", "bottom"):
        axes.spines[side].set_color(_GRID)
