"""The SQL files of `storage/sql`, one query each, by name; every catalogue carries `VIEWS`, and the `MACROS` that
queries call. A view stands after those that it reads."""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import Path
from typing import Final

from storage.schemas import SCHEMAS

PROFILE_VIEWS: Final = (
    "profile_latest",
    "profile_instances",
    "profile_overhead",
    "profile_pairs",
    "profile_settings",
    "profile_success",
    "profile_failures",
    "profile_headline",
    "profile_speedups",
    "profile_histogram",
    "profile_slowdowns",
    "profile_bad_by_size",
    "profile_precision",
    "profile_tolerance",
    "profile_by_family",
    "profile_by_op",
    "profile_by_pattern",
    "profile_correlation",
    "profile_roofline",
    "profile_headroom",
)
"""The figures of the paper's appendix G over the corpus's timings, and what they are made from."""

BENCH_VIEWS: Final = (
    "bench_instances",
    "bench_buckets",
    "bench_single",
    "bench_triple",
    "bench_cross_shape",
    "bench_cross_dtype",
    "bench_groups",
    "bench_candidates",
    "bench_sequences",
)
"""The groups of PassBench, step by step, from the corpus's instances; `storage.bench_steps` has the later steps."""

BENCH_REPORT_VIEWS: Final = ("bench_splits", "bench_losses", "bench_floors", "bench_long_tail")
"""What a build made: sizes of its sides, what was left out, what null submissions reach, where Inductor leaves room."""

VIEWS: Final = (
    "current_failures",
    "current_constraints",
    "coverage",
    "subgraph_support",
    "fusible_places",
    *PROFILE_VIEWS,
    *BENCH_VIEWS,
    *BENCH_REPORT_VIEWS,
)
MACROS: Final = ("is_view", "xxh3_64")
_FOLDER: Final = Path(__file__).with_name("sql")


@lru_cache
def query_text(name: str) -> str:
    """Return the text of `storage/sql/<name>.sql`, its header comment included, without the final semicolon."""
    return (_FOLDER / f"{name}.sql").read_text().rstrip().rstrip(";")


@lru_cache
def tables_of(name: str) -> frozenset[str]:
    """Return the tables that a stored query reads."""
    return frozenset(mentioned_tables(re.sub(r"--[^\n]*", "", query_text(name))))


def mentioned_tables(sql: str) -> set[str]:
    """Return the tables that some SQL may read, views followed: those whose names are words in it."""
    words = set(re.findall(r"\w+", sql.lower()))
    mentioned = words & set(SCHEMAS)
    for view in VIEWS:
        if view in words:
            mentioned |= tables_of(view)
    return mentioned
