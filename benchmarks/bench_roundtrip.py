"""Export tasks of PassBench, read their directories back, and compare with the tasks straight from the tables.

`--tasks` tasks drawn by seed are loaded from Parquet, and exported into a temporary folder (`--kept` keeps it), whose
samples are read as `passnet import` reads them: parsed, never executed. Of each member the instance's hash, the program
and its operands must be the same, and so must, bit by bit, what a run on seeded operands in the instance's dtype
returns (members that move more than `--run-bytes` are not run). Exits with 1 where one is not.

`ratio=` is the seconds that export and reading back take over those of loading straight from Parquet.
"""

from __future__ import annotations

import contextlib
import random
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import torch

from benchmarks.report import make_parser, print_report
from extract.foreign_sample import read_sample_files
from extract.graph import Graph
from extract.hashing import signature_sha256
from flows.bench_export import export_tasks
from mining.instance import instance_sha256
from passbench.bench_task import BenchTask, TaskMember
from profiles.comparison import compare
from profiles.instance_run import instance_recipe, run_instance
from storage.bench_tasks import find_tasks, load_tasks
from storage.corpus import Corpus
from storage.sample_folders import read_files
from storage.task_description import member_folder


def main(argv: Sequence[str] | None = None) -> None:
    """Run it; the last line is `ratio=`."""
    parser = make_parser(__doc__)
    parser.add_argument("--corpus", type=Path, required=True)
    parser.add_argument("--tasks", type=int, default=50, help="tasks to draw")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--run-bytes", type=float, default=2e8, help="run no member that moves more")
    parser.add_argument("--kept", type=Path, metavar="DIR", help="a new folder for the tasks")
    options = parser.parse_args(argv)
    torch.set_num_threads(1)
    with Corpus.open(options.corpus) as corpus, _folder(options.kept) as folder:
        every = find_tasks(corpus)
        drawn = sorted(random.Random(options.seed).sample(every, min(options.tasks, len(every))))
        started = time.perf_counter()
        tasks = list(load_tasks(corpus, drawn))
        loaded = time.perf_counter()
        folders = export_tasks(options.corpus, drawn, None, None, None, folder)
        exported = time.perf_counter()
        read = [read_members(path, task) for path, task in zip(folders, tasks, strict=True)]
        ended = time.perf_counter()
    pairs = [pair for task, graphs in zip(tasks, read, strict=True) for pair in zip(task.members, graphs, strict=True)]
    outcomes = Counter(outcome for pair in pairs for outcome in outcomes_of(*pair, options.seed, options.run_bytes))
    figures = {"tasks": len(tasks), "members": len(pairs), **{name: outcomes[name] for name in OUTCOMES}}
    figures |= {"load_s": loaded - started, "export_s": exported - loaded, "read_back_s": ended - exported}
    print_report(figures, (ended - loaded) / (loaded - started), as_json=options.json)
    if any(outcomes[name] for name in WRONG):
        raise SystemExit(1)


WRONG = ("different_hash", "different_program", "different_outputs", "raises_differently")
OUTCOMES = ("ran_equal", "raised_on_both", "not_run", *WRONG)


def read_members(folder: Path, task: BenchTask) -> list[Graph]:
    """Return the programs of a task's directory, as `passnet import` reads each of them."""
    graphs: list[Graph] = []
    for member in task.members:
        path = folder / member_folder(member.position)
        files = {name: content.decode("utf-8-sig") for name, content in read_files(path).items()}
        graphs.append(read_sample_files(files, str(path)).graph)
    return graphs


def outcomes_of(member: TaskMember, graph: Graph, seed: int, run_bytes: float) -> Iterator[str]:
    """Yield what holds of a member and the program that was read back in its place."""
    if instance_sha256(signature_sha256(graph)) != member.instance_sha256:
        yield "different_hash"
    if _plain(graph) != _plain(member.graph):
        yield "different_program"
    if member.num_bytes is None or member.num_bytes > run_bytes:
        yield "not_run"
        return
    expected, got = (_run(program, seed) for program in (member.graph, graph))
    if isinstance(expected, str) or isinstance(got, str):
        yield "raised_on_both" if isinstance(expected, str) and expected == got else "raises_differently"
        return
    yield "ran_equal" if compare(expected, got).bitwise_equal else "different_outputs"


def _plain(graph: Graph) -> Graph:
    """Return a graph without what its calls return: an export records it, tables do not have it."""
    return replace(graph, nodes=tuple([replace(node, outputs=()) for node in graph.nodes]))


def _run(graph: Graph, seed: int) -> tuple[torch.Tensor, ...] | str:
    try:
        return run_instance(graph, seed, instance_recipe(graph, seed))
    except Exception as error:  # foreign code
        return f"{type(error).__name__}: {error}"


@contextlib.contextmanager
def _folder(kept: Path | None) -> Iterator[Path]:
    if kept is not None:
        yield kept
        return
    with tempfile.TemporaryDirectory(prefix="passnet-tasks-") as folder:
        yield Path(folder)


if __name__ == "__main__":
    main()
