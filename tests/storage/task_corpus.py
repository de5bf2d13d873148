"""A small corpus with tasks: the instances of `generalized_corpus`, grouped by hand, one of them timed and checked."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

from profiles.timing import Timing
from storage.corpus import Corpus
from storage.records import rows_to_table
from storage.timing_records import timing_row
from tests.storage.generalized_corpus import make_generalized, rows_of

SHARED_PREFIX = "ab" * 4
SHAPES, DTYPES, ONE = SHARED_PREFIX + "0" * 56, SHARED_PREFIX + "1" * 56, "cd" * 32
"""The tasks: one dtype at several sizes, one size in several dtypes, a single instance."""

_MEMBERS = {
    SHAPES: ("classical", "eval", "cross_shape", "dtype = 'float32' AND shape_config <= 4"),
    DTYPES: ("classical", "train", "cross_dtype", "shape_config = 0"),
    ONE: ("single_op", "train", "single", "shape_config = 1 AND dtype = 'bfloat16'"),
}

_made: list[Path] = []
"""Where this process made it first: no test changes it there."""


def members_of(corpus: Corpus, task_id: str) -> list[str]:
    """Return the instances of a task, by position."""
    where = _MEMBERS[task_id][3]
    return [name for (name,) in rows_of(corpus, f"SELECT instance_sha256 FROM instances WHERE {where} ORDER BY ALL")]


def make_tasks(path: Path) -> Corpus:
    """Return a corpus with the three tasks; the first member of `SHAPES` was timed and checked, each twice."""
    if _made:
        return copy_of(Corpus.open(_made[0]), path)
    make_generalized(path)
    with Corpus.create(path) as corpus:
        ((ops,),) = rows_of(corpus, "SELECT DISTINCT op_sequence FROM subgraphs WHERE kind = 'classical'")
        first = members_of(corpus, SHAPES)[0]
        tables: dict[str, list[dict[str, Any]]] = {
            "bench_tasks": [_task(corpus, task_id, ops) for task_id in _MEMBERS],
            "bench_members": [
                {"task_id": task_id, "position": position, "instance_sha256": name}
                for task_id in _MEMBERS
                for position, name in enumerate(members_of(corpus, task_id))
            ],
            "bench_checks": [_check(first, "check/9", -10), _check(first, "check/10", -2)],
            "timings": [timing_row(_timing(first, run_id, us)) for run_id, us in (("run-1", 70.0), ("run-2", 50.0))],
        }
        rows = {name: rows_to_table(name, found) for name, found in tables.items()}
        corpus.commit(corpus.stage(rows, "bench"), "bench")
    _made.append(path)
    return Corpus.open(path)


def copy_of(corpus: Corpus, path: Path) -> Corpus:
    """Return a copy, to be damaged."""
    shutil.copytree(corpus.root, path)
    return Corpus.open(path)


def _task(corpus: Corpus, task_id: str, ops: list[str]) -> dict[str, Any]:
    kind, split, rule, _ = _MEMBERS[task_id]
    return {
        "task_id": task_id,
        "kind": kind,
        "split": split,
        "rule": rule,
        "op_sequence": ops,
        "op_sequence_xxh3": "0" * 32,
        "num_ops": len(ops),
        "num_members": len(members_of(corpus, task_id)),
        "num_shapes": 1,
        "dtypes": ["float32"],
        "families": ["vit"],
        "structures": [],
        "sigma": 16,
        "algorithm": "passnet-bench/1",
    }


def _check(instance: str, algorithm: str, zeros_level: int) -> dict[str, Any]:
    facts = {"instance_sha256": instance, "algorithm": algorithm, "num_draws": 5}
    return {**facts, "zeros_level": zeros_level, "seconds": 1.0}


def _timing(instance: str, run_id: str, latency_us: float) -> Timing:
    return Timing(
        instance_sha256=instance,
        backend="eager",
        device_id="cpu:Xeon",
        environment_sha256="e" * 64,
        run_id=run_id,
        cache="cold",
        status="ok",  # pyright: ignore[reportArgumentType]
        latency_us=latency_us,
        iqr_frac=0.1,
        stable=True,
        seconds=1.0,
    )
