"""A former build of PassBench, whose tasks a new build keeps, each on its side, whatever has come to the corpus."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from passbench.leakage import SequenceKey
from passbench.op_sequence import OpSequence
from storage.corpus import Corpus
from storage.errors import UsageError
from storage.shards import read_shards

_TABLES = ("bench_tasks", "bench_members")


@dataclass(frozen=True, slots=True)
class FormerBuild:
    """Rows of `bench_tasks` and `bench_members`, and how the build was named."""

    name: str
    tasks: pa.Table
    members: pa.Table

    def keys(self, split: str) -> set[SequenceKey]:
        """Return the (kind, op_sequence_xxh3) of one side."""
        return {(row["kind"], row["op_sequence_xxh3"]) for row in self._rows(split)}

    def sequences(self, split: str) -> list[OpSequence]:
        """Return the op sequences of one side, by kind and hash, with what their tasks say of them."""
        found: dict[SequenceKey, list[dict[str, Any]]] = {}
        for row in self._rows(split):
            found.setdefault((row["kind"], row["op_sequence_xxh3"]), []).append(row)
        return [_sequence(found[key]) for key in sorted(found)]

    def _rows(self, split: str) -> Iterable[dict[str, Any]]:
        return (row for row in self.tasks.to_pylist() if row["split"] == split)


def load_base(corpus: Corpus, name: str) -> FormerBuild:
    """Return the build of another corpus's folder, or of a former manifest of this corpus, by its number.

    Raises UsageError where there is none, where its members are not those that its tasks count, or where it has
    instances that the corpus lacks.
    """
    if name.isdecimal():
        manifest = corpus.manifest(int(name))
        tasks, members = (read_shards(corpus.root, table, manifest.shards(table)) for table in _TABLES)
    else:
        with _open_base(name) as other:
            tasks, members = (other.read(table) for table in _TABLES)
    if not tasks.num_rows:
        raise UsageError(f"--base {name} has no bench tasks", "name a corpus, or a manifest of this one, that has some")
    _check_members(name, tasks, members)
    known = set(corpus.read("instances", ["instance_sha256"]).column(0).to_pylist())
    if lacking := set(members.column("instance_sha256").to_pylist()) - known:
        what = f"--base {name} has {len(lacking):,} instances that {corpus.root} lacks ({min(lacking)[:12]})"
        raise UsageError(what, "build from a corpus that has grown out of it")
    return FormerBuild(name, tasks, members)


def _open_base(name: str) -> Corpus:
    remedy = "name a corpus's folder, or the number of a manifest of this one"
    if not name.strip():
        raise UsageError("--base is empty", remedy)
    try:
        return Corpus.open(Path(name))
    except UsageError as error:
        raise UsageError(f"--base {name}: {error.what}", remedy) from error


def with_base(tables: dict[str, pa.Table], base: FormerBuild, *, every_group: bool = False) -> dict[str, pa.Table]:
    """Return the tasks of a build with all of the former one's in the place of those that they stand for.

    A former evaluation task stands for its op sequence in every kind, a former training task for its sequence and rule;
    with `every_group` for itself alone.
    """
    evaluated = {xxh3 for _, xxh3 in base.keys("eval")}
    ids = set(base.tasks.column("task_id").to_pylist())
    trained = {_group(row) for row in base.tasks.to_pylist() if row["split"] == "train"}
    kept = [
        row["task_id"] not in ids
        and row["op_sequence_xxh3"] not in evaluated
        and (row["split"] == "eval" or every_group or _group(row) not in trained)
        for row in tables["bench_tasks"].to_pylist()
    ]
    tasks = tables["bench_tasks"].filter(pa.array(kept, pa.bool_()))
    left = set(tasks.column("task_id").to_pylist())
    members = tables["bench_members"]
    stays = pa.array([task in left for task in members.column("task_id").to_pylist()], pa.bool_())
    return {
        "bench_tasks": _ordered(pa.concat_tables([base.tasks, tasks]), "task_id"),
        "bench_members": _ordered(pa.concat_tables([base.members, members.filter(stays)]), "task_id", "position"),
    }


def _check_members(name: str, tasks: pa.Table, members: pa.Table) -> None:
    """Raise UsageError unless each task has as many member rows as it says, and each row is of a task."""
    expected = {row["task_id"]: row["num_members"] for row in tasks.to_pylist()}
    counts = Counter(members.column("task_id").to_pylist())
    wrong = sorted(task for task in expected.keys() | counts.keys() if counts[task] != expected.get(task))
    if not wrong:
        return
    first = wrong[0]
    told = f"{expected[first]:,} members" if first in expected else "no row in bench_tasks"
    more = f", and so for {len(wrong) - 1:,} more" if len(wrong) > 1 else ""
    raise UsageError(
        f"--base {name} is damaged: task {first[:16]} has {told} and {counts[first]:,} rows in bench_members{more}",
        "name a build that is whole, or see what is damaged: passnet fsck --deep",
    )


def _group(row: dict[str, Any]) -> tuple[str, str, str]:
    return row["kind"], row["op_sequence_xxh3"], row["rule"]


def _ordered(rows: pa.Table, *keys: str) -> pa.Table:
    return rows.combine_chunks().sort_by([(key, "ascending") for key in keys])


def _sequence(rows: list[dict[str, Any]]) -> OpSequence:
    families = frozenset(family for row in rows for family in row["families"])
    structures = frozenset(structure for row in rows for structure in row["structures"])
    first, num_members = rows[0], sum(row["num_members"] for row in rows)
    ops = tuple(first["op_sequence"])
    return OpSequence(first["kind"], ops, first["op_sequence_xxh3"], num_members, families, structures)
