"""Tasks to directories that need no corpus: what a submission starts from, and what judging one reads.

    task.json                                    what the task is (`storage.task_description`)
    README.md                                    what to do, and the rules (`passbench.task_readme`)
    graphs/<position>/                           a member as a sample of the public layout (`storage.export`)
    pass_dir/sorted_output_pass_rule_names.json  the passes of a submission, in order: none as yet

Samples are read back by `passnet import`, and give each member's program back field by field. A directory appears whole
or not at all (`storage.sample_folders`); what a killed writer leaves is a hidden one beside it.
"""

from __future__ import annotations

import fcntl
import os
import re
import shutil
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Final

from extract.graph import Graph
from passbench.bench_task import BenchTask
from passbench.task_readme import PASS_LIST, task_readme
from storage.corpus import Corpus
from storage.errors import UsageError
from storage.export import InstanceSources
from storage.filesystem import explained, make_folder
from storage.instances import first_rows
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


def check_same(folder: Path, files: Iterable[tuple[str, str]]) -> None:
    """Raise UsageError unless a folder holds these files and nothing else, byte by byte; tells the first that differs.

    That alone shows that a folder is what would be written: the corpus may have grown since, or its user have begun.
    """
    there = _files_below(folder)
    differing = None
    for name, text in files:
        content = there.pop(name, None)
        if differing is None and (content is None or content.read_bytes() != text.encode("utf-8")):
            differing = name
    differing = differing or min(there, default=None)
    if differing is not None:
        raise UsageError(
            f"{folder} exists and is not empty, and its {differing} is not what would be written",
            "name a new folder, or remove that one",
        )


@contextmanager
def writing_below(out: Path, folders: Iterable[Path]) -> Generator[None]:
    """Remove what killed writers left of these folders below `out`, unless another writer is at work below it.

    A lock on `out`, which ends with its process, tells.
    """
    with explained(out):
        make_folder(out)
        descriptor = os.open(out, os.O_RDONLY | os.O_DIRECTORY)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            pass
        else:
            with explained(out):
                for path in folders:
                    _remove_leftovers(path)
        fcntl.flock(descriptor, fcntl.LOCK_SH)
        yield
    finally:
        os.close(descriptor)


class TaskFiles:
    """The files of some tasks, whose tables are read once for all of them."""

    def __init__(self, corpus: Corpus, tasks: Sequence[BenchTask], record: Record) -> None:
        instances = list(dict.fromkeys(member.instance_sha256 for task in tasks for member in task.members))
        self._rows = first_rows(corpus, instances)
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
        has_floors = any(member.instance_sha256 in self._measured.checks for member in task.members)
        yield "README.md", task_readme(recorded, has_floors=has_floors)


def _files_below(folder: Path) -> dict[str, Path | None]:
    """Return what is no folder below a folder, by relative name: the path of a file, None for a link or the like."""
    found: dict[str, Path | None] = {}
    for above, folders, names in os.walk(folder):
        for name in [*names, *(name for name in folders if Path(above, name).is_symlink())]:
            path = Path(above, name)
            is_file = path.is_file() and not path.is_symlink()
            found[path.relative_to(folder).as_posix()] = path if is_file else None
    return found


def _remove_leftovers(folder: Path) -> None:
    """Remove the hidden folders in which `extract.sample_folder` was writing this one."""
    hidden = re.compile(rf"\.tmp\.{re.escape(folder.name)}-[0-9a-f]{{8}}")
    for path in folder.parent.iterdir() if folder.parent.is_dir() else ():
        if hidden.fullmatch(path.name) and path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
