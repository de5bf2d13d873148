"""Stored instances in, PassBench out: group, select, run what stands for each group, split, commit all tables at once.

A build reads one manifest and writes the whole of its tables, so that it can be killed at any moment and started again;
instances that were run stay known (`bench_checks`).
"""

from __future__ import annotations

import os
import secrets
import time
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any, cast

from prefect import flow
from prefect.task_runners import TaskRunner, ThreadPoolTaskRunner

from flows.bench_checking import InstanceChecks
from flows.bench_plan import CHECK_SECONDS, plan_build
from flows.progress import REPORTER, Reporter
from passbench.selection import NUM_SELECTED
from passbench.shortfall import why_no_task
from storage.bench_base import FormerBuild, load_base
from storage.bench_build import TaskBuild
from storage.bench_rows import BuildConfig
from storage.bench_steps import BENCH_TABLES, SIGMA
from storage.corpus import Corpus
from storage.errors import UsageError
from storage.query import run_query


@dataclass(frozen=True, slots=True)
class BuildSummary:
    """What stands after a build, as rows of the views `bench_splits` and `bench_losses`, and what is less than was
    asked for; `seconds` is wall time."""

    corpus: str
    manifest: int
    splits: tuple[dict[str, Any], ...]
    losses: tuple[dict[str, Any], ...]
    warnings: tuple[str, ...]
    seconds: float


@flow(name="bench-build", task_runner=cast("TaskRunner[Any]", ThreadPoolTaskRunner()), persist_result=False)
def bench_build(
    corpus: str = "data/corpus",
    sigma: int = SIGMA,
    num_selected: int = NUM_SELECTED,
    method: str = "hmm",
    seed: int = 0,
    split_by_family: bool = False,
    every_group: bool = False,
    base: str | None = None,
    check: bool = True,
    workers: int | None = None,
    check_seconds: float = CHECK_SECONDS,
    retry_failed: bool = False,
) -> BuildSummary:
    """Build the tasks of PassBench from a corpus's instances, and return what stands then.

    `base` names a former build (a corpus's folder, or a manifest of this one) whose tasks all stay. Without `check` no
    instance is run, and degenerate tasks stay; what ran out of less than `check_seconds` is run again, with
    `retry_failed` all that ran out of time or memory. Raises UsageError before any write, and where there would be no
    task in the place of a former build's: that one stays then.
    """
    started = time.monotonic()
    config = plan_build(sigma, num_selected, method, seed, split_by_family, every_group, check)
    reporter = REPORTER.get()
    with Corpus.open(corpus, write=True) as opened:
        former = load_base(opened, base) if base else None
        num_workers = workers or os.cpu_count() or 1
        warnings = build_tasks(opened, config, former, num_workers, reporter, check_seconds, retry_failed=retry_failed)
        reporter.stage("writing the catalogue")
        opened.write_catalogue()
        return BuildSummary(
            str(opened.root),
            opened.manifest().number,
            tuple(run_query(opened, "bench_splits")),
            tuple(run_query(opened, "bench_losses")),
            warnings,
            time.monotonic() - started,
        )


def build_tasks(
    corpus: Corpus,
    config: BuildConfig,
    base: FormerBuild | None,
    num_workers: int,
    reporter: Reporter,
    check_seconds: float = CHECK_SECONDS,
    *,
    retry_failed: bool = False,
) -> tuple[str, ...]:
    """Build the tables of PassBench and commit them; returns what is less than was asked for. Runs within a flow.

    Raises UsageError where no group is a task and the corpus has tasks, which then stay.
    """
    checks = InstanceChecks(corpus, num_workers, reporter, check_seconds, retry_failed=retry_failed)
    with corpus.connect(BENCH_TABLES) as connection, checks:
        build = TaskBuild(connection, config, base, on_stage=reporter.stage)
        if config.checked:
            build.check = checks
        tables = build.make()
    warnings = build.warnings
    if not tables["bench_tasks"].num_rows and tables["bench_dropped"].num_rows:
        why = why_no_task(tables["bench_dropped"].column("reason").to_pylist())
        _keep_tasks(corpus, why, check_seconds)
        warnings = (why, *warnings)
    corpus.replace(tables, new_run_id(), asdict(config))
    return warnings


def _keep_tasks(corpus: Corpus, why: str, check_seconds: float) -> None:
    """Raise UsageError where a build without tasks would take the place of one that has some."""
    if num_tasks := corpus.manifest().rows("bench_tasks"):
        raise UsageError(
            f"{why}; the {num_tasks:,} tasks of the former build stay",
            f"give more than --check-seconds {check_seconds:g} where they time out, or see what the checks say: "
            f"passnet sql --corpus {corpus.root} 'FROM bench_checks'",
        )


def new_run_id() -> str:
    """Return an id that says when the run began."""
    return f"bench-{datetime.now(UTC):%Y%m%dT%H%M%S}-{secrets.token_hex(3)}"
