"""Stored graphs in, kernel curves out: find what lacks one, plan shards in children, commit in order, report.

The smallest graphs come first. A run can be killed at any moment and started again: the manifest alone decides which
graphs have their curve, and counts that were committed are not made again.
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

from extract.sandbox import ChildFailed, Limits, StartFailed
from flows.curve_plan import DEFAULT_TARGETS, check_bound, check_targets
from flows.in_order import commit_in_order
from flows.progress import REPORTER, Reporter
from flows.refresh_plan import read_model_list
from storage.corpus import Corpus
from storage.errors import CorpusError
from storage.query import run_query
from tasks.curves import (
    Candidate,
    CurveJob,
    CurveReport,
    CurveSession,
    commit_curves,
    curve_shard,
    find_candidates,
    load_memo,
)
from tasks.sandbox_pool import SandboxPool

_WORKER = "tasks.curve_worker"
_OPS_PER_SHARD = 300  # what a kill loses at most, per worker: half a minute, of slow graphs two
_REQUEST_SECONDS = 900.0  # a program of thousands of ops is planned in minutes


@dataclass(frozen=True, slots=True)
class CurveSummary:
    """Figures of one run: curves made now, graphs that failed now or before and that are left (for a bound), and the
    curves that now stand, as rows of `storage/sql/curve_summary.sql`. `seconds` is wall time."""

    corpus: str
    num_made: int
    num_failed: int
    num_left: int
    num_failed_before: int
    targets: tuple[dict[str, Any], ...]
    seconds: float


@flow(name="curves", task_runner=cast("TaskRunner[Any]", ThreadPoolTaskRunner()), persist_result=False)
def curves(
    corpus: str = "data/corpus",
    targets: str = DEFAULT_TARGETS,
    exact: bool = False,
    models_file: str | None = None,
    limit: int | None = None,
    workers: int | None = None,
    max_seconds: float | None = None,
    request_seconds: float = _REQUEST_SECONDS,
    retry_failed: bool = False,
) -> CurveSummary:
    """Make the kernel curves that the stored graphs lack, for each target, and return what stands then.

    `limit` bounds the graphs of each target, the smallest first; `workers` is the number of children (default: one per
    CPU), `max_seconds` bounds the run, `request_seconds` each request to a child; `retry_failed` tries again what
    failed before. Raises UsageError before any write.
    """
    started = time.monotonic()
    wanted = check_targets(targets)
    check_bound(max_seconds)
    model_ids = read_model_list(Path(models_file)) if models_file else None
    reporter = REPORTER.get()
    with Corpus.open(corpus, write=True) as opened:
        deadline = None if max_seconds is None else started + max_seconds
        num_workers = workers or os.cpu_count() or 1
        num_made = num_failed = num_left = num_failed_before = 0
        for target in wanted:
            job = CurveJob(new_run_id(), target, exact)
            bounds = limit, deadline, request_seconds, retry_failed
            made = curves_of(opened, job, num_workers, reporter, model_ids, *bounds)
            num_made, num_failed = num_made + made[0], num_failed + made[1]
            num_left, num_failed_before = num_left + made[2], num_failed_before + made[3]
        reporter.stage("writing the catalogue")
        if opened.is_fragmented():
            opened.compact()
        opened.write_catalogue()
        rows = tuple(run_query(opened, "curve_summary"))
        counts = num_made, num_failed, num_left, num_failed_before
        return CurveSummary(str(opened.root), *counts, rows, time.monotonic() - started)


def curves_of(
    corpus: Corpus,
    job: CurveJob,
    num_workers: int,
    reporter: Reporter,
    model_ids: Sequence[str] | None = None,
    limit: int | None = None,
    deadline: float | None = None,
    request_seconds: float = _REQUEST_SECONDS,
    retry_failed: bool = False,
) -> tuple[int, int, int, int]:
    """Make the curves that graphs lack for one target; return how many were made, failed, are left, and failed before.

    Runs within a flow. Shards are committed in order.
    """
    lacking = find_candidates(corpus, job, model_ids)
    candidates = [candidate for candidate in lacking if retry_failed or not candidate.has_failed]
    num_failed_before = len(lacking) - len(candidates)
    chosen = candidates[:limit]
    if not chosen:
        return 0, 0, len(candidates), num_failed_before
    pool = SandboxPool(num_workers, limits=Limits(seconds=request_seconds), worker=_WORKER)
    session = CurveSession(corpus, pool, load_memo(corpus, job), job, _advance(reporter), deadline)
    reporter.begin(len(chosen), f"planning for {job.target}", f"planned for {job.target}", "graphs")
    try:
        num_made, num_failed = _run_shards(session, chosen)
    except (StartFailed, ChildFailed) as error:
        raise CorpusError(f"kernels cannot be planned here ({error})", "check the installation") from error
    finally:
        pool.close()
    return num_made, num_failed, len(candidates) - num_made - num_failed, num_failed_before


def _run_shards(session: CurveSession, chosen: Sequence[Candidate]) -> tuple[int, int]:
    reports: list[CurveReport] = []

    def submitted() -> Iterator[PrefectFuture[CurveReport]]:
        for number, shard in enumerate(_shards_of(chosen)):
            if session.is_over:
                return
            yield curve_shard.submit(session, number, shard)

    def commit(number: int, report: CurveReport) -> None:
        commit_curves(session, number, report)
        reports.append(report)

    commit_in_order(submitted(), commit, session.pool.num_workers)
    return sum(report.num_made for report in reports), sum(report.num_failed for report in reports)


def new_run_id() -> str:
    """Return an id that says when the run began."""
    return f"curves-{datetime.now(UTC):%Y%m%dT%H%M%S}-{secrets.token_hex(3)}"


def _advance(reporter: Reporter) -> Callable[[str, bool], None]:
    return lambda model_id, has_failed: reporter.advance(model_id, has_failed)


def _shards_of(candidates: Sequence[Candidate]) -> Iterator[tuple[Candidate, ...]]:
    shard: list[Candidate] = []
    num_ops = 0
    for candidate in candidates:
        shard.append(candidate)
        num_ops += candidate.num_ops
        if num_ops >= _OPS_PER_SHARD:
            yield tuple(shard)
            shard, num_ops = [], 0
    if shard:
        yield tuple(shard)
