"""Rows of PassBench to tasks with the programs of their members, straight from the corpus's tables: no export needed.

Tasks are read together, so many that a few queries serve them all and what they take fits in memory. A graph that
members are cut out of is rebuilt once for all of these. No torch: what the calls of a changed cut return stays unknown
(`extract.recorded_outputs` finds it).
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from extract.graph import Graph
from passbench.bench_task import BenchTask, TaskMember
from storage.corpus import Corpus
from storage.errors import CorpusError, UsageError
from storage.instances import damaged_instance, first_rows, render_each
from storage.query import run_query

TASKS_PER_READ: Final = 64
"""Tasks read together; of 10 members on average, cut out of as many graphs of a megabyte at most."""

Row = Mapping[str, Any]
_MATCHES_NAMED: Final = 8
_HASH_SHOWN: Final = 16


def find_tasks(
    corpus: Corpus,
    task_ids: Iterable[str] | None = None,
    split: str | None = None,
    kinds: Iterable[str] | None = None,
    limit: int | None = None,
) -> list[str]:
    """Return the tasks of a split and of some kinds (None: of any), at most `limit`, by task_id.

    `task_ids` are prefixes, each of one of these tasks, which come in the order named; raises UsageError for one that
    means none of them or several.
    """
    names = None if kinds is None else list(kinds)
    found = [row["task_id"] for row in run_query(corpus, "task_ids", {"split": split, "kinds": names})]
    if task_ids is not None:
        among = " ".join(filter(None, [split, " or ".join(names or ()), "task"]))
        found = list(dict.fromkeys(_meant(corpus, found, name, among) for name in task_ids))
    return found[:limit]


def load_task(corpus: Corpus, task_id: str) -> BenchTask:
    """Return the task that a prefix means, with its members' programs.

    Raises UsageError where it means none or several, CorpusError where the corpus does not give a member.
    """
    return next(load_tasks(corpus, find_tasks(corpus, [task_id])))


def load_tasks(corpus: Corpus, task_ids: Sequence[str]) -> Iterator[BenchTask]:
    """Yield tasks by their whole ids, in the order asked for; raises as `load_task`."""
    for start in range(0, len(task_ids), TASKS_PER_READ):
        wanted = task_ids[start : start + TASKS_PER_READ]
        rows = {row["task_id"]: row for row in run_query(corpus, "task_rows", {"task_ids": list(wanted)})}
        if missing := [name for name in wanted if name not in rows]:
            raise UsageError(f"no task of {corpus.root} is called {missing[0]!r}", _where_tasks(corpus))
        instances = first_rows(corpus, [name for row in rows.values() for name in row["members"]])
        graphs = _render(corpus, instances.values())
        for name in wanted:
            yield _task(corpus, rows[name], instances, graphs)


def no_tasks(corpus: Corpus) -> UsageError:
    """Return what to raise where a corpus has no task: no build, or one that found none."""
    build = f"passnet bench build --corpus {corpus.root}"
    reasons = corpus.read("bench_dropped", ["reason"]).column(0).to_pylist()
    if not reasons:
        return UsageError(f"{corpus.root} has no bench tasks", f"build them: {build}")
    from passbench.shortfall import why_no_task  # numpy is for those who need it

    what = f"the build has no task: {why_no_task(reasons)}"
    return UsageError(what, f"build again, with more --check-seconds where instances time out: {build}")


def _where_tasks(corpus: Corpus) -> str:
    return f"see `passnet sql --corpus {corpus.root} 'FROM bench_tasks'`"


def _meant(corpus: Corpus, task_ids: Sequence[str], name: str, among: str) -> str:
    """Return the one of the sorted `task_ids` that begins with a name."""
    prefix = name.strip().lower()
    first = bisect_left(task_ids, prefix)
    found = [task for task in task_ids[first : first + _MATCHES_NAMED + 1] if task.startswith(prefix)]
    if len(found) == 1 and prefix:
        return found[0]
    if not corpus.manifest().rows("bench_tasks"):
        raise no_tasks(corpus)
    if not found or not prefix:
        raise UsageError(f"no {among} of {corpus.root} is called {name!r}", _where_tasks(corpus))
    shown = [task[: max(_HASH_SHOWN, len(prefix) + 4)] for task in found[:_MATCHES_NAMED]]
    more = ", ..." if len(found) > _MATCHES_NAMED else ""
    raise UsageError(f"{name!r} means several tasks: {', '.join(shown)}{more}", "give one of these")


def _render(corpus: Corpus, rows: Iterable[Row]) -> dict[str, Graph]:
    """Return the programs of rows by instance; raises CorpusError where the corpus does not give one."""
    graphs: dict[str, Graph] = {}
    for instance, program in render_each(corpus, rows):
        if isinstance(program, CorpusError):
            raise program
        graphs[instance] = program
    return graphs


def _task(corpus: Corpus, row: Row, instances: Mapping[str, Row], graphs: Mapping[str, Graph]) -> BenchTask:
    if missing := [name for name in row["members"] if name not in graphs]:
        raise damaged_instance(corpus, missing[0], f"it is a member of task {row['task_id']} and no row of instances")
    return BenchTask(
        row["task_id"],
        row["kind"],
        row["split"],
        row["rule"],
        tuple(row["op_sequence"]),
        row["op_sequence_xxh3"],
        row["num_shapes"],
        tuple(row["dtypes"]),
        tuple(row["families"]),
        row["algorithm"],
        tuple([_member(position, instances[name], graphs[name]) for position, name in enumerate(row["members"])]),
    )


def _member(position: int, row: Row, graph: Graph) -> TaskMember:
    return TaskMember(
        position,
        row["instance_sha256"],
        row["subgraph_sha256"],
        row["model_id"],
        row["shape_config"],
        row["dtype"],
        graph,
        row["num_bytes"],
        row["num_flop"],
    )
