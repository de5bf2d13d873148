"""Stored instances in, PassBench out: group, select, run what stands for each group, split, commit all tables at once.

A build reads one manifest and writes the whole of its tables, so that it can be killed at any moment and started again;
instances that were run stay known (`bench_checks`).
"""

from __future__ import annotations

import os
import secrets
import time
from collections.abc import Collection
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any, cast

from prefect import flow
from prefect.task_runners import TaskRunner, ThreadPoolTaskRunner

from flows.bench_checking import check_missing
from flows.bench_plan import CHECK_SECONDS, plan_build
from flows.progress import REPORTER, Reporter
from passbench.instance_check import CHECK_ALGORITHM
from passbench.selection import NUM_SELECTED
from storage.bench_base import FormerBuild, load_base
from storage.bench_build import TaskBuild, Verdict, no_check
from storage.bench_rows import BuildConfig
from storage.bench_steps import BENCH_TABLES, SIGMA
from storage.corpus import Corpus
from storage.query import run_query


@dataclass(frozen=True, slots=True)
class BuildSummary:
    """What stands after a build, as rows of the views `bench_splits` and `bench_losses`; `seconds` is wall time."""

    corpus: str
    manifest: int
    splits: tuple[dict[str, Any], ...]
    losses: tuple[dict[str, Any], ...]
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
    instance is run, and degenerate tasks stay; `retry_failed` runs again what ran out of time or memory. Raises
    UsageError before any write.
    """
    started = time.monotonic()
    config = plan_build(sigma, num_selected, method, seed, split_by_family, every_group, check)
    reporter = REPORTER.get()
    with Corpus.open(corpus, write=True) as opened:
        former = load_base(opened, base) if base else None
        num_workers = workers or os.cpu_count() or 1
        build_tasks(opened, config, former, num_workers, reporter, check_seconds, retry_failed=retry_failed)
        reporter.stage("writing the catalogue")
        opened.write_catalogue()
        return BuildSummary(
            str(opened.root),
            opened.manifest().number,
            tuple(run_query(opened, "bench_splits")),
            tuple(run_query(opened, "bench_losses")),
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
) -> None:
    """Build the tables of PassBench and commit them; runs within a flow."""

    tried: set[str] = set()

    def check(instances: Collection[str]) -> dict[str, Verdict]:
        new = set(instances) - tried
        check_missing(corpus, new, num_workers, reporter, check_seconds, retry_failed=retry_failed)
        tried.update(new)
        return _verdicts(corpus, instances)

    with corpus.connect(BENCH_TABLES) as connection:
        build = TaskBuild(connection, config, base, check if config.checked else no_check, reporter.stage)
        tables = build.make()
    corpus.replace(tables, new_run_id(), asdict(config))


def _verdicts(corpus: Corpus, instances: Collection[str]) -> dict[str, Verdict]:
    """Return why instances make no task, those that do left out; one that no child could run makes none either."""
    parameters = {"instances": sorted(instances), "algorithm": CHECK_ALGORITHM}
    rows = run_query(corpus, "checked_instances", parameters)
    missing = set(instances) - {row["instance_sha256"] for row in rows}
    found: dict[str, Verdict] = {instance: ("not_checked", None) for instance in missing}
    found |= {row["instance_sha256"]: (row["reason"], row["detail"]) for row in rows if row["reason"] is not None}
    return found


def new_run_id() -> str:
    """Return an id that says when the run began."""
    return f"bench-{datetime.now(UTC):%Y%m%dT%H%M%S}-{secrets.token_hex(3)}"
