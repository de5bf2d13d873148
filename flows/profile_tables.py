"""Which figures a profile report shows: the views, what each row and column is called, and how a number is written.

The numbers are the views' own (storage/sql/profile_*.sql); here they are only named, ordered and laid out.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Final, Literal

Style = Literal["share", "factor", "count", "us", "s", "number"]
SETTING: Final = ("device_id", "environment_sha256", "cache", "backend")
NOT_MEASURED: Final = "\N{EN DASH}"
_TIMES, _MICRO, _SPACE = "\N{MULTIPLICATION SIGN}", "\N{MICRO SIGN}", "\N{NO-BREAK SPACE}"


@dataclass(frozen=True, slots=True)
class Figure:
    """A column of a view: what it is called and how its numbers are written."""

    column: str
    label: str
    style: Style


@dataclass(frozen=True, slots=True)
class Table:
    """A view of one row per setting (`label` None: each figure is a row), or of several, named by the SQL `label`.

    Where there are several, the first figure is a cell's main number. `limit`: rows shown, of the most instances;
    `where`: SQL that chooses some.
    """

    view: str
    title: str
    text: str
    figures: tuple[Figure, ...]
    label: str | None = None
    order: str = "ALL"
    limit: int | None = None
    where: str = "true"


_COUNT = Figure("num_instances", "n", "count")
_MEDIANS = (
    Figure("median_speedup", "median", "factor"),
    Figure("slow_frac", "slower", "share"),
    Figure("median_kernel_speedup", "kernels", "factor"),
    _COUNT,
)

TABLES: Final = (
    Table(
        "profile_headline",
        "Headline",
        "Over valid pairs: eager and the backend timed in one run, both ok and both stable. Speedup is eager's time "
        "over the backend's; end to end includes the host, which is what a caller of torch.compile feels.",
        (
            Figure("num_instances", "valid pairs", "count"),
            Figure("num_subgraphs", "distinct subgraphs", "count"),
            Figure("slow_frac", "slower end to end", "share"),
            Figure("median_speedup", "median speedup end to end", "factor"),
            Figure("geomean_speedup", "geometric mean speedup end to end", "factor"),
            Figure("degraded_frac", "kernels slower", "share"),
            Figure("marginal_frac", "kernels less than 1.2 times faster", "share"),
            Figure("median_kernel_speedup", "median kernel speedup", "factor"),
            Figure("geomean_kernel_speedup", "geometric mean kernel speedup", "factor"),
            Figure("slow_kernels_faster_frac", "of the slower ones, kernels faster", "share"),
            Figure("slow_kernels_faster_median", "median kernel speedup of those", "factor"),
            Figure("median_num_ops", "median ops of a graph", "number"),
            Figure("median_num_ops_slow", "median ops of the slower ones", "number"),
            Figure("median_num_ops_others", "median ops of the others", "number"),
        ),
    ),
    Table(
        "profile_success",
        "Success",
        "Of the instances tried: those that compiled and ran to the end, and those that did so well. The paper rejects "
        "unstable timings and counts them as failures; here they are kept and marked, so both shares are given.",
        (
            Figure("num_tried", "instances tried", "count"),
            Figure("timed_frac", "compiled and timed", "share"),
            Figure("success_kept_frac", "success, unstable timings kept", "share"),
            Figure("success_frac", "success, unstable timings rejected", "share"),
            Figure("unstable_of_failures_frac", "unstable, of what is then no success", "share"),
            Figure("backend_failed_frac", "failed where eager did not", "share"),
            Figure("stable_frac", "stable, of the timed", "share"),
            Figure("max_attempts", "most attempts for one timing", "count"),
            Figure("median_compile_s", "median time to compile", "s"),
            Figure("seconds_beyond_compile", "mean time per instance beyond that", "s"),
        ),
    ),
    Table(
        "profile_failures",
        "Causes of failure",
        "Share of the instances tried, by how timing ended. `unstable`: ok, but noisy after all attempts.",
        (Figure("tried_frac", "of tried", "share"), _COUNT),
        "cause || if(is_eager_ok, '', ' (eager too)')",
        "num_instances DESC, row",
    ),
    Table(
        "profile_speedups",
        "Speedup",
        "By the kernels' own clock (the paper's table 7) and end to end.",
        (Figure("instances_frac", "of valid pairs", "share"), _COUNT),
        "clock || ' ' || speedup_range",
        "clock, range_order",
    ),
    Table(
        "profile_slowdowns",
        "Why the slower ones are slower",
        "One cause for each pair that is slower end to end (the paper's table 8), tried in this order: kernels slower; "
        "fewer than 15 ops; 15 or more and eager below 2 ms; where kernels have no clock, still slower without the "
        "overhead of an empty graph; other. `within overhead`: the loss is no more than that overhead.",
        (
            Figure("instances_frac", "of slower", "share"),
            Figure("median_speedup", "median", "factor"),
            Figure("median_kernel_speedup", "kernels", "factor"),
            Figure("within_overhead_frac", "within overhead", "share"),
            _COUNT,
        ),
        "cause",
        "cause_order",
    ),
    Table(
        "profile_bad_by_size",
        "Slower by size",
        "Share of valid pairs that are slower end to end, by the number of ops.",
        (Figure("slow_frac", "slower", "share"), Figure("median_speedup", "median", "factor"), _COUNT),
        "num_ops_range",
        "size_order",
    ),
    Table(
        "profile_correlation",
        "Speedup and graph size",
        "Pearson's correlation of speedup with the number of ops.",
        (Figure("pearson", "r", "number"), _COUNT),
        "clock",
        "clock",
    ),
    Table(
        "profile_precision",
        "Precision",
        "Largest absolute difference from eager, over ok pairs, noisy ones too. `<1e-6` has the bitwise identical too.",
        (
            Figure("instances_frac", "of compared", "share"),
            Figure("mean_speedup", "mean", "factor"),
            Figure("mean_kernel_speedup", "kernels", "factor"),
            _COUNT,
        ),
        "precision",
        "class_order",
    ),
    Table(
        "profile_tolerance",
        "Tolerance levels",
        "Share that is within atol(t) and rtol(t) of eager (the paper's appendix F) at some of the t from -10 to 0; at "
        "-5 float32 has the tolerances of torch.testing.",
        (Figure("passing_frac", "passing", "share"), _COUNT),
        "coalesce(dtype, 'unknown') || ', t = ' || tolerance_level",
        "dtype, tolerance_level",
        where="tolerance_level IN (-10, -7, -5, -3, 0)",
    ),
    Table(
        "profile_by_family",
        "By family",
        "Median speedup end to end of valid pairs, by the family of the model; the families of most instances.",
        _MEDIANS,
        "coalesce(family, 'unknown')",
        limit=20,
    ),
    Table(
        "profile_by_op",
        "By op",
        "Median speedup end to end of the valid pairs that hold an op; the ops of most instances.",
        _MEDIANS,
        "op",
        limit=20,
    ),
    Table(
        "profile_by_pattern",
        "By pattern",
        "Median speedup end to end of valid pairs, by their whole sequence of ops; the sequences of most instances.",
        _MEDIANS,
        "pattern",
        limit=15,
    ),
    Table(
        "profile_headroom",
        "Roofline",
        "How many times the least time that the device's peak bandwidth and FLOP allow stable timings take, by what "
        "bounds them: median, and middle half. Warm operands may come from the cache and beat this roof.",
        (
            Figure("median_headroom", "end to end", "factor"),
            Figure("lower_headroom", "from", "factor"),
            Figure("upper_headroom", "to", "factor"),
            Figure("median_kernel_headroom", "kernels", "factor"),
            Figure("within_twice_frac", "kernels within twice", "share"),
            _COUNT,
        ),
        "bound",
        "bound DESC",
    ),
)


def table_query(table: Table) -> str:
    """Return the SQL of a table: its view's columns, and `row`, which names the rows of one setting."""
    if table.limit is None:
        return f"SELECT *, {table.label or 'NULL'} AS row FROM {table.view} WHERE {table.where} ORDER BY {table.order}"
    weight = "sum(num_instances) OVER (PARTITION BY row)"
    return f"SELECT *, {table.label} AS row FROM {table.view} WHERE {table.where} ORDER BY {weight} DESC, row"


def written(value: Any, style: Style) -> str:
    """Return a number for people; what was not measured is a dash."""
    if value is None:
        return NOT_MEASURED
    if style == "count":
        return f"{value:,.0f}"
    if style == "share":
        return f"{100 * value:.1f}{_SPACE}%"
    if style == "factor":
        return f"{_figures(value)}{_TIMES}"
    if style == "number" and value == round(value):
        return f"{value:,.0f}"
    return _figures(value) + {"us": f"{_SPACE}{_MICRO}s", "s": f"{_SPACE}s", "number": ""}[style]


def _figures(value: float) -> str:
    """Return three significant digits, two decimals at least below ten."""
    if not math.isfinite(value) or value == 0:
        return f"{value:g}"
    size = abs(value)
    return (
        f"{value:,.0f}"
        if size >= 100
        else f"{value:.1f}"
        if size >= 10
        else f"{value:.2f}"
        if size >= 0.1
        else f"{value:.3f}"
    )
