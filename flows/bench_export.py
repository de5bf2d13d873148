"""`passnet bench export` and `show`: tasks of PassBench as directories that need no corpus, and one task for people."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from flows.export_command import with_outputs
from flows.printing import human_bytes, print_fields, print_report
from flows.progress import Reporter, SilentReporter, reporter_for
from flows.reading import DEFAULT_CORPUS, CorpusOption

if TYPE_CHECKING:
    from extract.graph import TensorMeta
    from passbench.bench_task import BenchTask, TaskMember
    from storage.corpus import Corpus

_HASH_SHOWN = 16
_OPERANDS_SHOWN = 4


def _named_folder(text: str) -> Path:
    """Refuse an empty name, as an unset variable leaves it: as a path it is the working directory."""
    from storage.errors import UsageError

    if not text.strip():
        raise UsageError("--out is empty", "name a folder")
    return Path(text)


def export(
    out: Annotated[
        Path, typer.Option(help="Folder to write into; other tasks may lie there.", metavar="DIR", parser=_named_folder)
    ],
    tasks: Annotated[
        list[str] | None,
        typer.Argument(help="Prefixes of task ids; all tasks where none is given.", metavar="[TASK]..."),
    ] = None,
    corpus: CorpusOption = DEFAULT_CORPUS,
    split: Annotated[str | None, typer.Option(help="train or eval alone.")] = None,
    kind: Annotated[
        str | None, typer.Option(help="fusible, classical or single_op alone; several by commas.", metavar="KINDS")
    ] = None,
    limit: Annotated[int | None, typer.Option(help="Tasks at most.", min=1)] = None,
) -> None:
    """Write tasks as directories DIR/<split>/<kind>/<task>: the graphs as samples, task.json, README.md, pass_dir/.

    Each appears whole or not at all. Those that lie there as they would be written stay: the same command goes on after
    a stop. Where a folder holds anything else, nothing is written.
    """
    kinds = None if kind is None else [name.strip() for name in kind.split(",")]
    reporter = reporter_for(Console(stderr=True))
    try:
        folders = export_tasks(corpus, tasks or [], split, kinds, limit, out, reporter)
    finally:
        reporter.close()
    typer.echo(f"{len(folders):,} task{'' if len(folders) == 1 else 's'} in {out}")


def show(
    task: Annotated[str, typer.Argument(help="Prefix of a task_id.", metavar="TASK")],
    corpus: CorpusOption = DEFAULT_CORPUS,
) -> None:
    """Print a task: its facts, its members, and the text of each distinct program of theirs."""
    from extract.text import render
    from storage.bench_tasks import load_task
    from storage.corpus import Corpus

    found = load_task(Corpus.open(corpus), task)
    programs = distinct_programs(found)
    print_fields(("what", "task"), list(_facts(found, programs).items()), "task")
    _print_members(found, programs)
    for number, positions in enumerate(programs):
        named = ", ".join(map(str, positions))
        typer.echo(f"program {number} (of {'members' if len(positions) > 1 else 'member'} {named})\n")
        typer.echo(render(found.members[positions[0]].graph))


def export_tasks(
    corpus: Path,
    tasks: Sequence[str],
    split: str | None,
    kinds: Sequence[str] | None,
    limit: int | None,
    out: Path,
    reporter: Reporter | None = None,
) -> list[Path]:
    """Write the tasks that `tasks` (prefixes) mean, or all, of a split and kinds, and return their folders in order.

    Folders that hold what would be written stay, what killed exports left is removed. Raises UsageError before anything
    is written: a split or kind that there is not, an unknown task, no tasks, a folder that holds anything else.
    """
    from storage.bench_tasks import find_tasks, no_tasks
    from storage.corpus import Corpus
    from storage.errors import UsageError
    from storage.sample_folders import check_free, write_folder
    from storage.task_folders import check_same, task_folders, writing_below

    _check_choice(split, kinds)
    opened = Corpus.open(corpus)
    found = find_tasks(opened, tasks or None, split, kinds, limit)
    if not found and not opened.manifest().rows("bench_tasks"):
        raise no_tasks(opened)
    if not found:
        raise UsageError(f"{corpus} holds no such task", f"see which there are: passnet bench stats --corpus {corpus}")
    folders = {task: out / folder for task, folder in task_folders(opened, found).items()}
    if not out.is_dir():
        check_free(out)
    there = [task for task in found if _may_be_ours(folders[task])]
    told = reporter or SilentReporter()
    told.begin(len(found), "exporting", "exported", "tasks")
    for task, files in _files_of(opened, there):
        check_same(folders[task], files)
        told.advance(task, False)
    if there:
        told.stage(f"{len(there):,} of {len(found):,} tasks are there already")
    missing = [task for task in found if task not in set(there)]
    with writing_below(out, folders.values()):
        for task, files in _files_of(opened, missing):
            write_folder(folders[task], files)
            told.advance(task, False)
    return list(folders.values())


def _may_be_ours(folder: Path) -> bool:
    """Tell whether a folder may be a task's; raises UsageError for one that is in use otherwise."""
    from storage.sample_folders import check_free
    from storage.task_folders import TASK_FILE

    if folder.is_dir() and not folder.is_symlink() and (folder / TASK_FILE).is_file():
        return True
    check_free(folder)
    return False


def _files_of(corpus: Corpus, tasks: Sequence[str]) -> Iterator[tuple[str, Iterator[tuple[str, str]]]]:
    """Yield each task with the files of its folder, to be read before the next."""
    from storage.bench_tasks import TASKS_PER_READ, load_tasks
    from storage.task_folders import TaskFiles

    for start in range(0, len(tasks), TASKS_PER_READ):
        some = list(load_tasks(corpus, tasks[start : start + TASKS_PER_READ]))
        files = TaskFiles(corpus, some, with_outputs)
        for task in some:
            yield task.task_id, files.of(task)


def distinct_programs(task: BenchTask) -> list[list[int]]:
    """Return the positions of the members of each program (graph_sha256), in order of their first."""
    from extract.hashing import graph_sha256

    programs: dict[str, list[int]] = {}
    for member in task.members:
        programs.setdefault(graph_sha256(member.graph), []).append(member.position)
    return list(programs.values())


def _check_choice(split: str | None, kinds: Sequence[str] | None) -> None:
    from mining.subgraph import KINDS
    from passbench.bench_task import SPLITS
    from storage.errors import UsageError

    if split is not None and split not in SPLITS:
        raise UsageError(f"--split {split}: there is no such side", f"choose {' or '.join(SPLITS)}")
    if unknown := [kind for kind in kinds or () if kind not in KINDS]:
        raise UsageError(f"--kind {unknown[0]}: there is no such kind", f"choose of {', '.join(KINDS)}")


def _facts(task: BenchTask, programs: Sequence[Sequence[int]]) -> dict[str, object]:
    return {
        "task_id": task.task_id,
        "kind": task.kind,
        "split": task.split,
        "rule": f"{task.rule} ({task.algorithm})",
        "op sequence": " ".join(task.op_sequence),
        "ops": len(task.op_sequence),
        "members": len(task.members),
        "shape buckets": task.num_shapes,
        "dtypes": ", ".join(task.dtypes),
        "families": ", ".join(task.families) or "unknown",
        "programs": len(programs),
    }


def _print_members(task: BenchTask, programs: Sequence[Sequence[int]]) -> None:
    program_of = {position: number for number, positions in enumerate(programs) for position in positions}
    columns = ("member", "program", "instance", "model", "config", "dtype", "operands", "bytes", "FLOP")
    rows = [[member.position, program_of[member.position], *_member_cells(member)] for member in task.members]
    print_report(columns, rows, "members")


def _member_cells(member: TaskMember) -> list[object]:
    operands = [_form(meta) for meta in member.graph.tensors]
    more = f" and {len(operands) - _OPERANDS_SHOWN} more" if len(operands) > _OPERANDS_SHOWN else ""
    return [
        member.instance_sha256[:_HASH_SHOWN],
        member.model_id,
        member.shape_config,
        member.dtype,
        " ".join(operands[:_OPERANDS_SHOWN]) + more,
        None if member.num_bytes is None else human_bytes(member.num_bytes),
        None if member.num_flop is None else f"{member.num_flop:.3g}",
    ]


def _form(meta: TensorMeta) -> str:
    return f"{meta.dtype}[{','.join(map(str, meta.shape))}]"
