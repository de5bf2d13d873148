"""Leaks of a stored build by the definition read aloud (definitions.md section 6), sharing no code with the build.

`python -m benchmarks.bench_leaks CORPUS` compares every evaluation task with every training task and says how many
pairs leak, and how much of what could be trained on the leaks took; it exits with 1 where one is left.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb

Row = dict[str, Any]


def is_leak(evaluation: Row, training: Row) -> bool:
    """Equal sequences; the shorter a contiguous part of the longer and longer than half; a structure in common."""
    one, other = evaluation["op_sequence"], training["op_sequence"]
    short, long = (one, other) if len(one) <= len(other) else (other, one)
    places = range(len(long) - len(short) + 1)
    is_part = 2 * len(short) > len(long) and any(long[place : place + len(short)] == short for place in places)
    return one == other or is_part or bool(set(evaluation["structures"]) & set(training["structures"]))


def leaking_pairs(tasks: list[Row]) -> Iterator[tuple[Row, Row]]:
    """Yield the pairs of an evaluation and a training task, of any kinds, that leak."""
    sides: dict[str, list[Row]] = {"eval": [], "train": []}
    for task in tasks:
        sides[task["split"]].append(task)
    for evaluation in sides["eval"]:
        for training in sides["train"]:
            if is_leak(evaluation, training):
                yield evaluation, training


def main(corpus: Path) -> int:
    """Print the counts; returns the exit code."""
    with duckdb.connect(str(corpus / "corpus.duckdb"), read_only=True) as connection:
        cursor = connection.execute("SELECT task_id, kind, split, op_sequence, structures FROM bench_tasks")
        names = [column[0] for column in cursor.description or ()]
        tasks = [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]
        lost = connection.execute(
            "SELECT kind, count(*) FILTER (reason = 'leak') FROM bench_dropped WHERE split = 'train' GROUP BY kind"
        ).fetchall()
    sizes = {side: sum(task["split"] == side for task in tasks) for side in ("eval", "train")}
    pairs = list(leaking_pairs(tasks))
    print(f"{sizes['eval']:,} evaluation tasks x {sizes['train']:,} training tasks: {len(pairs):,} pairs leak")
    for kind, num_leaks in sorted(lost):
        trained = sum((task["kind"], task["split"]) == (kind, "train") for task in tasks)
        print(f"{kind}: {num_leaks:,} groups lost to leaks, {trained:,} training tasks")
    return 1 if pairs else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
