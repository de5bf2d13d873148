"""Tasks to directories that need no corpus: what a submission starts from, and what judging one reads.

    task.json                                    what the task is (`storage.task_description`)
    README.md                                    what to do, and the rules (`passbench.task_readme`)
    graphs/<position>/                           a member as a sample of the public layout (`storage.export`)
    pass_dir/sorted_output_pass_rule_names.json  the passes of a submission, in order: none as yet

Samples are read back by `passnet import`, and give each member's program back field by field.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Final

from extract.graph import Graph
from passbench.bench_task import BenchTask
from passbench.task_readme import PASS_LIST, task_readme
from storage.bench_tasks import member_rows
from storage.corpus import Corpus
from storage.export import InstanceSources
from storage.query import run_query
from storage.task_description import describe_task, description_text, member_folder, read_measured

TASK_FILE: Final = "task.json"

Record = Callable[[Graph], Graph]
"""A program to one that says what its calls return, as `extract.recorded_outputs` finds it; that takes torch."""


def task_folders(corpus: Corpus, task_ids: Iterable[str]) -> dict[str, str]:
    """Return where an export has each task, below the folder that it was given: <split>/<kind>/<start of task_id>."""
    rows = {row["task_id"]: row for row in run_query(corpus, "task_ids", {"split": None, "kinds": None})}
    return {name: f"{rows[name]['split']}/{rows[name]['kind']}/{name[:16]}" for name in task_ids}


def task_files(corpus: Corpus, task: BenchTask, record: Record) -> Iterator[tuple[str, str]]:
    """Yield the files of a task's directory by relative name; raises UsageError where a member's model has no row."""
    return TaskFiles(corpus, [task], record).of(task)


class TaskFiles:
    """The files of some tasks, whose tables are read once for all of them."""

    def __init__(self, corpus: Corpus, tasks: Sequence[BenchTask], record: Record) -> None:
        instances = list(dict.fromkeys(member.instance_sha256 for task in tasks for member in task.members))
        self._rows = member_rows(corpus, instances)
        self._sources = InstanceSources(corpus, self._rows.values())
        self._measured = read_measured(corpus, instances)
        self._record = record

    def of(self, task: BenchTask) -> Iterator[tuple[str, str]]:
        """Yield the files of one of these tasks, as `task_files` does."""
        members = tuple([replace(member, graph=self._record(member.graph)) for member in task.members])
        recorded = replace(task, members=members)
        for member in recorded.members:
            files = self._sources.files(self._rows[member.instance_sha256], member.graph)
            for name, text in files.items():
                yield f"{member_folder(member.position)}/{name}", text
        yield TASK_FILE, description_text(describe_task(recorded, self._measured))
        yield f"pass_dir/{PASS_LIST}", "[]\n"
        yield "README.md", task_readme(recorded)
