"""What a corpus's PassBench holds, as rows: sizes beside the paper's, selection, pairs across the split, floors."""

from __future__ import annotations

from typing import Any

from storage.bench_tasks import no_tasks
from storage.corpus import Corpus
from storage.query import run_queries

Rows = list[dict[str, Any]]

NULLS = "submissions that compute nothing"
_QUERIES = {
    "splits": "FROM bench_splits",
    "paper": "FROM paper_bench",
    "builds": """
        SELECT algorithm, num_groups, num_base_tasks, base, config FROM bench_builds
    """,
    "selections": """
        SELECT * EXCLUDE (model) FROM bench_selections
        ORDER BY
            list_position(['fusible', 'classical', 'single_op'], kind),
            list_position(['hmm', 'markov', 'random'], method)
    """,
    "pairs": """
        SELECT relation, is_dropped, evaluation_kind, training_kind, count(*) AS num_pairs,
            count(DISTINCT training_xxh3) AS num_training_sequences
        FROM bench_leakage GROUP BY ALL ORDER BY ALL
    """,
    "families": """
        SELECT split, count(DISTINCT family) AS num_families,
            count(DISTINCT family) FILTER (on_both) AS num_on_both_sides,
            count(DISTINCT task_id) FILTER (on_both) / count(DISTINCT task_id) AS tasks_of_shared_families_frac
        FROM (
            SELECT *, count(DISTINCT split) OVER (PARTITION BY family) > 1 AS on_both
            FROM (SELECT task_id, split, unnest(families) AS family FROM bench_tasks)
        )
        GROUP BY split ORDER BY split
    """,
    "losses": "FROM bench_losses",
    "floors": """
        SELECT kind, split, count(*) AS num_tasks, count(*) FILTER (num_checked > 0) AS num_checked,
            if(max(num_checked) > 0, count(zeros_level), NULL) AS zeros_ever, min(zeros_level) AS zeros_smallest_t,
            if(max(num_checked) > 0, count(ones_level), NULL) AS ones_ever, min(ones_level) AS ones_smallest_t,
            if(max(num_checked) > 0, count(mean_level), NULL) AS mean_ever, min(mean_level) AS mean_smallest_t,
            if(max(num_checked) > 0, count(identity_level), NULL) AS identity_ever,
            min(identity_level) AS identity_smallest_t
        FROM bench_tasks JOIN bench_floors USING (task_id)
        GROUP BY kind, split
        ORDER BY list_position(['fusible', 'classical', 'single_op'], kind), split
    """,
    "long_tail": """
        SELECT kind, split, device_id, cache, backend, count(*) AS num_tasks,
            avg(is_long_tail::INTEGER) AS long_tail_frac,
            median(median_speedup) AS median_speedup, median(roofline_used_frac) AS roofline_used_frac
        FROM bench_long_tail GROUP BY ALL ORDER BY ALL
    """,
    "sizes": """
        SELECT kind, split, num_members, count(*) AS num_tasks FROM bench_tasks GROUP BY ALL ORDER BY ALL
    """,
    "sequences": """
        SELECT kind, split, op_sequence_xxh3, sum(num_members)::BIGINT AS num_subgraphs
        FROM bench_tasks GROUP BY ALL ORDER BY kind, split, num_subgraphs DESC, op_sequence_xxh3
    """,
    "rules": "SELECT kind, split, rule, count(*) AS num_tasks FROM bench_tasks GROUP BY ALL ORDER BY ALL",
}


def read_stats(corpus: Corpus) -> dict[str, Rows]:
    """Return rows by part, as of the newest manifest; raises UsageError where there are no tasks."""
    if not corpus.manifest().rows("bench_tasks"):
        raise no_tasks(corpus)
    return run_queries(corpus, _QUERIES)


def splits_beside_paper(parts: dict[str, Rows]) -> Rows:
    """Return the rows of `bench_splits`, with each figure that the paper has too in brackets beside ours."""
    paper = {(row["row"], row["figure"]): row["value"] for row in parts["paper"]}
    shown = ("num_tasks", "num_sequences", "num_subgraphs", "smallest", "median_size", "mean_size", "largest")
    rows: Rows = []
    for split in parts["splits"]:
        row: dict[str, Any] = {"kind": split["kind"], "split": split["split"]}
        for figure in shown:
            told = paper.get((f"{split['kind']} {split['split']}", figure))
            row[figure] = split[figure] if told is None else f"{_plain(split[figure])} ({_plain(told)})"
        rows.append(row)
    return rows


def _plain(number: float) -> str:
    return f"{number:,.1f}" if number % 1 else f"{int(number):,}"
