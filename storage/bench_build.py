"""A corpus's instances to the tables of PassBench: groups, evaluation side, leaks, training side, what was left out.

The order is: group (SQL), select op sequences for evaluation, run what stands for the groups chosen and select again
while some make no task, drop what leaks from the rest, choose training groups and run those too. All choices go by
hashes and seeds: the same corpus gives the same tables. Every group is a task, or a row of `bench_dropped` that says
why not.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import duckdb
import pyarrow as pa

from passbench.choice import EvaluationChooser
from passbench.leakage import Leak, SequenceKey, find_leaks, key_of, split_by_family
from passbench.near_duplicates import near_duplicates
from passbench.op_sequence import OpSequence
from passbench.shortfall import Evaluated, shortfalls
from storage.bench_base import FormerBuild, with_base
from storage.bench_rows import BuildConfig, build_row, dropped_row, leakage_rows, selection_rows
from storage.bench_steps import (
    choose_training,
    chosen_tables,
    groups_of,
    instances_to_run,
    make_groups,
    read_sequences,
    split_selected,
)
from storage.records import rows_to_table

Verdict = tuple[str, str | None]
"""Why an instance makes no task (a reason of `bench_checks`), and detail."""
Check = Callable[[Collection[str]], Mapping[str, Verdict]]
"""Given instances, returns those of them that make no task."""
Stage = Callable[[str], None]


_BY_FORMER: Final = "by a task of the former build"


def no_check(_: Collection[str]) -> dict[str, Verdict]:
    """Find nothing: for builds that run no instance."""
    return {}


@dataclass
class TaskBuild:
    """One build over a connection that has the views of `storage.bench_steps.BENCH_TABLES`; `make` it once.

    `check` runs instances; `on_stage` is told what is being done. `warnings` says after `make` of which kinds there are
    fewer evaluation tasks than asked for, and why.
    """

    connection: duckdb.DuckDBPyConnection
    config: BuildConfig
    base: FormerBuild | None = None
    check: Check = no_check
    on_stage: Stage = lambda _: None
    warnings: tuple[str, ...] = ()
    _reasons: dict[str, tuple[str, str, str | None]] = field(default_factory=dict)
    _groups: list[dict[str, Any]] = field(default_factory=list)

    def make(self) -> dict[str, pa.Table]:
        """Return the rows of all bench tables but `bench_checks`, each ordered by its key."""
        self.on_stage("grouping instances")
        make_groups(self.connection, self.config.sigma)
        self._groups = groups_of(self.connection, "bench_candidates")
        sequences = read_sequences(self.connection)
        to_evaluate, to_train = self._sides(sequences)
        chooser = self._chooser(to_evaluate)
        excluded = self._choose_evaluation(chooser)
        evaluation = self._evaluation_sequences(chooser.choose(excluded))
        self.on_stage("looking for leaks")
        leaks = self._drop_leaks(evaluation, sequences, to_train)
        self._choose_training()
        tables = self._tasks()
        self.warnings = self._shortfalls(tables["bench_tasks"], sequences, to_evaluate, chooser, excluded)
        training = [sequence for sequence in sequences if key_of(sequence) in _keys(tables["bench_tasks"], "train")]
        self.on_stage("looking for near duplicates")
        near = near_duplicates(evaluation, training)
        rows = {
            "bench_builds": [self._build_row()],
            "bench_selections": selection_rows(chooser.compare(excluded)),
            "bench_leakage": leakage_rows(leaks, near),
            "bench_dropped": self._dropped(tables["bench_tasks"]),
        }
        return {**tables, **{table: rows_to_table(table, found) for table, found in rows.items()}}

    def _sides(self, sequences: list[OpSequence]) -> tuple[list[OpSequence], set[SequenceKey]]:
        """Return what may be evaluated, and what may be trained on as far as families go."""
        choice = self.config.choice
        if not choice.split_by_family:
            return sequences, {key_of(sequence) for sequence in sequences}
        split = split_by_family(sequences, choice.family_frac, choice.seed)
        return list(split.evaluation), {key_of(sequence) for sequence in split.training}

    def _chooser(self, to_evaluate: list[OpSequence]) -> EvaluationChooser:
        self.on_stage("fitting hidden Markov models")
        kept, trained = (self.base.keys("eval"), self.base.sequences("train")) if self.base else (set(), [])
        return EvaluationChooser(to_evaluate, self.config.choice, kept, trained)

    def _choose_evaluation(self, chooser: EvaluationChooser) -> set[SequenceKey]:
        """Choose until every group of the evaluation side makes a task; return the sequences excluded."""
        kept = self.base.keys("eval") if self.base else set()
        excluded: set[SequenceKey] = set()
        self.on_stage("selecting op sequences")
        while True:
            selected = {key_of(sequence) for sequence in chooser.choose(excluded)} | kept
            split_selected(self.connection, sorted(selected))
            groups = [group for group in groups_of(self.connection, "bench_evaluation") if _key(group) not in kept]
            bad = self._degenerate(groups, "eval")
            if not bad:
                return excluded
            excluded |= {_key(group) for group in groups if group["task_id"] in bad}

    def _choose_training(self) -> None:
        """Choose until every group of the training side makes a task.

        Where the largest of a kind, sequence and rule makes none, ever more of those that follow are run with the next,
        twice as many each time: of a view none may, and there are a thousand.
        """
        barred = set(self._reasons)
        self.on_stage("choosing training groups")
        following = self._by_size(barred)
        depths: dict[tuple[str, str, str], int] = {}
        while True:
            choose_training(self.connection, sorted(barred), every_group=self.config.every_group)
            chosen = groups_of(self.connection, "bench_training")
            more = [group for rule, depth in depths.items() for group in following[rule][:depth]]
            bad = self._degenerate({group["task_id"]: group for group in (*chosen, *more)}.values(), "train")
            failed = {_rule(group) for group in chosen if group["task_id"] in bad}
            if not failed:
                return
            barred |= bad
            depths = {rule: 2 * depths.get(rule, 1) for rule in failed}
            for rule in failed:
                following[rule] = [group for group in following[rule] if group["task_id"] not in barred]

    def _by_size(self, barred: Collection[str]) -> dict[tuple[str, str, str], list[dict[str, Any]]]:
        """Return the groups that may be trained on by kind, sequence and rule, in the order of choice."""
        found: dict[tuple[str, str, str], list[dict[str, Any]]] = {}
        remaining = groups_of(self.connection, "bench_remaining")
        for group in sorted(remaining, key=lambda group: (-group["num_members"], group["task_id"])):
            if group["task_id"] not in barred:
                found.setdefault(_rule(group), []).append(group)
        return found

    def _degenerate(self, groups: Iterable[Mapping[str, Any]], split: str) -> set[str]:
        """Run what stands for these groups; note and return those that make no task."""
        ids = [group["task_id"] for group in groups]
        runs = instances_to_run(self.connection, ids) if self.check is not no_check else {}
        found = self.check(sorted({instance for instances in runs.values() for instance in instances}))
        bad: set[str] = set()
        for task, instances in runs.items():
            verdict = next((found[instance] for instance in instances if instance in found), None)
            if verdict is not None:
                bad.add(task)
                self._reasons[task] = split, *verdict
        return bad

    def _evaluation_sequences(self, chosen: Iterable[OpSequence]) -> list[OpSequence]:
        """Return the sequences of the evaluation side, those of former tasks that the corpus groups otherwise too."""
        found = {key_of(sequence): sequence for sequence in (self.base.sequences("eval") if self.base else ())}
        found |= {key_of(sequence): sequence for sequence in chosen}
        return [found[key] for key in sorted(found)]

    def _drop_leaks(
        self, evaluation: list[OpSequence], sequences: Iterable[OpSequence], to_train: set[SequenceKey]
    ) -> list[Leak]:
        """Note the groups that may not be trained on for leaks and for families; return the leaks."""
        evaluated = {key_of(sequence) for sequence in evaluation}
        others = [sequence for sequence in sequences if key_of(sequence) not in evaluated]
        leaks = find_leaks(evaluation, others)
        told = {(leak.training_kind, leak.training_xxh3): leak for leak in reversed(leaks)}
        for group in self._groups:
            key = _key(group)
            if key in told and key not in evaluated:
                detail = f"{told[key].reason} {told[key].evaluation_kind} {told[key].evaluation_xxh3}"
                self._reasons.setdefault(group["task_id"], ("train", "leak", detail))
            elif key not in to_train and key not in evaluated:
                self._reasons.setdefault(group["task_id"], ("train", "family", None))
        return leaks

    def _tasks(self) -> dict[str, pa.Table]:
        tables = chosen_tables(self.connection)
        return with_base(tables, self.base, every_group=self.config.every_group) if self.base else tables

    def _shortfalls(
        self,
        tasks: pa.Table,
        sequences: list[OpSequence],
        to_evaluate: list[OpSequence],
        chooser: EvaluationChooser,
        excluded: set[SequenceKey],
    ) -> tuple[str, ...]:
        """Say of which kinds there are fewer evaluation tasks than asked for."""
        counts = Counter(row["kind"] for row in tasks.select(["kind", "split"]).to_pylist() if row["split"] == "eval")
        whys = {_key(group): self._reasons[group["task_id"]] for group in self._groups if self._is_told(group, "eval")}
        degenerate = {key: whys[key][1] for key in excluded}
        found = Evaluated(sequences, to_evaluate, chooser.barred, degenerate)
        return tuple(shortfalls(counts, self.config.choice, found))

    def _is_told(self, group: Mapping[str, Any], split: str) -> bool:
        return group["task_id"] in self._reasons and self._reasons[group["task_id"]][0] == split

    def _build_row(self) -> dict[str, Any]:
        name, num_tasks = (self.base.name, self.base.tasks.num_rows) if self.base else (None, 0)
        return build_row(self.config, name, num_tasks, len(self._groups))

    def _dropped(self, tasks: pa.Table) -> list[dict[str, Any]]:
        """Return a row for each group that is no task."""
        ids = set(tasks.column("task_id").to_pylist())
        evaluated, trained = _keys(tasks, "eval"), _keys(tasks, "train")
        former = self.base.keys("eval") | self.base.keys("train") if self.base else set[SequenceKey]()
        rows: list[dict[str, Any]] = []
        for group in self._groups:
            if group["task_id"] in ids:
                continue
            key = _key(group)
            if group["task_id"] in self._reasons:
                split, reason, detail = self._reasons[group["task_id"]]
            elif key in evaluated:
                split, reason, detail = "eval", "evaluated", _BY_FORMER if key in former else None
            else:
                split, reason = "train", "not_drawn"
                detail = _BY_FORMER if key in former and key in trained else None
            rows.append(dropped_row(group, split, reason, detail))
        return rows


def _key(group: Mapping[str, Any]) -> SequenceKey:
    return group["kind"], group["op_sequence_xxh3"]


def _rule(group: Mapping[str, Any]) -> tuple[str, str, str]:
    return group["kind"], group["op_sequence_xxh3"], group["rule"]


def _keys(tasks: pa.Table, split: str) -> set[SequenceKey]:
    return {
        _key(row) for row in tasks.select(["kind", "op_sequence_xxh3", "split"]).to_pylist() if row["split"] == split
    }
