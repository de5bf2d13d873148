"""Stored subgraphs in, instances out: choose a graph for each, re-trace models in children, commit in order, report.

A run can be killed at any moment and started again: the manifest alone decides which subgraphs were generalized. Where
a graph fails, its subgraphs are cut out of the next graph that holds them, and where its model gives fewer instances
than another may, out of a second one too (`tasks.second_places`).
"""

from __future__ import annotations

import os
import secrets
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

from prefect import flow
from prefect.futures import PrefectFuture
from prefect.task_runners import TaskRunner, ThreadPoolTaskRunner

from extract.sandbox import GIB, ChildFailed, Limits, StartFailed
from flows.generalize_plan import MAX_BYTES, MODEL_SECONDS, check_bounds
from flows.in_order import commit_in_order
from flows.mining_plan import check_kinds
from flows.progress import REPORTER, Reporter
from flows.refresh_plan import read_model_list
from mining.subgraph import KINDS
from storage.corpus import Corpus
from storage.errors import CorpusError
from storage.query import run_query
from tasks.generalize import (
    Candidate,
    GeneralizeJob,
    GeneralizeReport,
    GeneralizeSession,
    commit_instances,
    find_candidates,
    generalize_rest,
    generalize_shard,
)
from tasks.sandbox_pool import SandboxPool

_WORKER = "tasks.generalize_worker"
_GRAPHS_PER_SHARD = 4  # some half a minute of a worker
_SHARDS_WAITING = 24  # done while one takes long, and lost with it by a kill: the largest models take ten minutes
_RECYCLE_BYTES = 5 * GIB // 2  # a child holds 1.4 GiB once it has loaded what models import, which takes it 15 s
_RESIDENT_BYTES = 6 * GIB  # a model on real tensors, at a batch of 12 (OneFormer: over 4)
_SPARE_SECONDS = 120.0  # beside the traces: building, cutting, hashing; after it the child is killed


@dataclass(frozen=True, slots=True)
class GeneralizeSummary:
    """Figures of one run: subgraphs and instances made now, graphs that failed and that are left (for a bound).

    Then what stands: subgraphs that have none, graphs that failed at any time, the other subgraphs as rows of
    `storage/sql/generalize_summary.sql`, and why instances are missing as rows of `generalize_reasons.sql`. `seconds`
    is wall time.
    """

    corpus: str
    num_subgraphs: int
    num_instances: int
    num_failed: int
    num_left: int
    num_without: int
    num_failed_graphs: int
    domains: tuple[dict[str, Any], ...]
    reasons: tuple[dict[str, Any], ...]
    seconds: float


@flow(name="generalize", task_runner=cast("TaskRunner[Any]", ThreadPoolTaskRunner()), persist_result=False)
def generalize(
    corpus: str = "data/corpus",
    models_file: str | None = None,
    limit: int | None = None,
    workers: int | None = None,
    max_bytes: int = MAX_BYTES,
    max_params: int | None = None,
    model_seconds: float = MODEL_SECONDS,
    retry_failed: bool = False,
    kinds: str = ",".join(KINDS),
) -> GeneralizeSummary:
    """Make the instances of the mined subgraphs that have none, and return what stands then.

    `limit` bounds the graphs, those that need the fewest ops first; `workers` is the number of children (default: one
    per CPU); an instance that moves more than `max_bytes` is left out, and a model whose variants take more than
    `model_seconds` fails; `retry_failed` tries again what failed before; `kinds` of subgraphs are separated by commas.
    Raises UsageError before any write.
    """
    started = time.monotonic()
    check_bounds(max_bytes, max_params, model_seconds)
    wanted = check_kinds(kinds)
    model_ids = read_model_list(Path(models_file)) if models_file else None
    reporter = REPORTER.get()
    with Corpus.open(corpus, write=True) as opened:
        job = GeneralizeJob(new_run_id(), max_bytes, max_params, model_seconds, wanted)
        num_workers = workers or os.cpu_count() or 1
        reports, num_left = generalize_missing(opened, job, num_workers, reporter, model_ids, limit, retry_failed)
        reporter.stage("writing the catalogue")
        if opened.is_fragmented():
            opened.compact()
        opened.write_catalogue()
        (without,) = run_query(opened, "generalize_left")
        return GeneralizeSummary(
            str(opened.root),
            sum(report.num_subgraphs for report in reports),
            sum(report.num_instances for report in reports),
            sum(len(report.failed) for report in reports),
            num_left,
            without["num_subgraphs"],
            without["num_failed_graphs"],
            tuple(run_query(opened, "generalize_summary")),
            tuple(run_query(opened, "generalize_reasons")),
            time.monotonic() - started,
        )


def generalize_missing(
    corpus: Corpus,
    job: GeneralizeJob,
    num_workers: int,
    reporter: Reporter,
    model_ids: Sequence[str] | None = None,
    limit: int | None = None,
    retry_failed: bool = False,
) -> tuple[list[GeneralizeReport], int]:
    """Generalize what lacks it, until nothing is left or `limit` graphs were tried; return reports and graphs left.

    Runs within a flow.
    """
    seconds = job.model_seconds + _SPARE_SECONDS
    limits = Limits(seconds=seconds, resident_bytes=_RESIDENT_BYTES, recycle_bytes=_RECYCLE_BYTES)
    pool = SandboxPool(num_workers, limits=limits, worker=_WORKER)
    session = GeneralizeSession(corpus, pool, job, _advance(reporter))
    reports: list[GeneralizeReport] = []
    num_tried, failed = 0, set[tuple[str, str]]()  # what fails for the machine's sake is for the next run
    try:
        while True:
            found = find_candidates(corpus, model_ids, retry_failed, job.kinds, session.second_places.passed_over)
            candidates = [one for one in found if (one.signature_sha256, one.model_id) not in failed]
            chosen = candidates[: None if limit is None else limit - num_tried]
            if not chosen and (rest := generalize_rest(session)).num_subgraphs:
                commit_instances(session, -1, rest)
                reports.append(rest)
                continue  # what is left is less by these
            if not chosen:
                return reports, len(found)
            num_tried += len(chosen)
            made = _run_shards(session, chosen, reporter)
            failed.update(graph for report in made for graph in report.failed)
            reports += made
    except (StartFailed, ChildFailed) as error:
        raise CorpusError(f"models cannot be traced here ({error})", "check the installation") from error
    finally:
        pool.close()


def _run_shards(session: GeneralizeSession, chosen: Sequence[Candidate], reporter: Reporter) -> list[GeneralizeReport]:
    reports: list[GeneralizeReport] = []
    reporter.begin(len(chosen), "generalizing", "generalized", "graphs")

    def submitted() -> Iterator[PrefectFuture[GeneralizeReport]]:
        for number, start in enumerate(range(0, len(chosen), _GRAPHS_PER_SHARD)):
            yield generalize_shard.submit(session, number, tuple(chosen[start : start + _GRAPHS_PER_SHARD]))

    def commit(number: int, report: GeneralizeReport) -> None:
        commit_instances(session, number, report)
        reports.append(report)

    commit_in_order(submitted(), commit, session.pool.num_workers + _SHARDS_WAITING)
    return reports


def new_run_id() -> str:
    """Return an id that says when the run began."""
    return f"generalize-{datetime.now(UTC):%Y%m%dT%H%M%S}-{secrets.token_hex(3)}"


def _advance(reporter: Reporter) -> Callable[[str, bool], None]:
    return lambda model_id, has_failed: reporter.advance(model_id, has_failed)
