"""Stored graphs in, verdicts out: find what lacks them, check shards in children, commit in order, report.

The smallest graphs come first, so that a run with a bound on its time gives the most verdicts. A run can be killed at
any moment and started again: the manifest alone decides what is done.
"""

from __future__ import annotations

import os
import secrets
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

from prefect import flow
from prefect.futures import PrefectFuture
from prefect.task_runners import TaskRunner, ThreadPoolTaskRunner

from extract.budget import RealBudget
from extract.sandbox import ChildFailed, Limits, StartFailed
from flows.in_order import commit_in_order
from flows.progress import REPORTER, Reporter
from flows.refresh_plan import read_model_list
from storage.corpus import Corpus
from storage.errors import CorpusError
from storage.query import run_query
from tasks.levels import LEVELS_REACHED, check_level
from tasks.sandbox_pool import SandboxPool
from tasks.validate import (
    Candidate,
    GraphOutcome,
    ValidationConfig,
    ValidationReport,
    ValidationSession,
    commit_verdicts,
    find_candidates,
    validate_shard,
)

_GRAPHS_PER_SHARD = 8  # what a kill loses at most, per worker


@dataclass(frozen=True, slots=True)
class ValidationSummary:
    """Figures of one run: graphs that got verdicts now, graphs left without (for a bound on number or time), and the
    verdicts that now stand at the level, as rows of `storage/sql/validation_summary.sql`. `seconds` is wall time."""

    corpus: str
    level: str
    num_now: int
    num_left: int
    verdicts: tuple[dict[str, Any], ...]
    seconds: float


@flow(name="validate", task_runner=cast("TaskRunner[Any]", ThreadPoolTaskRunner()), persist_result=False)
def validate(
    corpus: str = "data/corpus",
    level: str = "fake",
    fidelity: bool | None = None,
    models_file: str | None = None,
    limit: int | None = None,
    workers: int | None = None,
    max_bytes: int = RealBudget().max_bytes,
    max_flop: float = RealBudget().max_flop,
    max_params: int | None = None,
    max_seconds: float | None = None,
    graph_seconds: float = Limits().seconds,
    import_modules: Sequence[str] = (),
) -> ValidationSummary:
    """Give the stored graphs the verdicts of `level` that they lack, and return what stands then.

    `fidelity` (default: at level real) also compares each graph with one of its models; `workers` is the number of
    children (default: one per CPU), `max_bytes` and `max_flop` bound what one run of a graph may be estimated to
    cost, `max_params` the models that are built, `max_seconds` the run, `graph_seconds` each request to a child.
    Raises UsageError before anything is written.
    """
    started = time.monotonic()
    model_ids = read_model_list(Path(models_file)) if models_file else None
    config = ValidationConfig(
        new_run_id(),
        check_level(level),
        level == "real" if fidelity is None else fidelity,
        RealBudget(max_bytes, max_flop),
        max_params,
        max_seconds,
        tuple(import_modules),
    )
    with Corpus.open(corpus, write=True) as opened:
        pool = SandboxPool(workers or os.cpu_count() or 1, import_modules, Limits(seconds=graph_seconds))
        try:
            outcomes, num_left = validate_missing(opened, pool, config, model_ids, limit, REPORTER.get())
        except (StartFailed, ChildFailed) as error:
            remedy = "check --import and the installation"
            raise CorpusError(f"graphs cannot be checked here ({error})", remedy) from error
        finally:
            pool.close()
        REPORTER.get().stage("writing the catalogue")
        if opened.is_fragmented():
            opened.compact()
        opened.write_catalogue()
        return summarise(opened, config, model_ids, len(outcomes), num_left, time.monotonic() - started)


def validate_missing(
    corpus: Corpus,
    pool: SandboxPool,
    config: ValidationConfig,
    model_ids: Sequence[str] | None,
    limit: int | None,
    reporter: Reporter,
) -> tuple[list[GraphOutcome], int]:
    """Check graphs until none lacks verdicts or a bound is met; return what they got, and how many are left.

    Runs within a flow. Shards are committed in order; several may be under way, one per worker and one more.
    """
    candidates = find_candidates(corpus, config, model_ids)
    chosen = candidates[:limit]
    deadline = None if config.max_seconds is None else time.monotonic() + config.max_seconds
    session = ValidationSession(corpus, pool, _advance(reporter), deadline)
    reporter.begin(len(chosen), "checking", "checked", "graphs")
    outcomes: list[GraphOutcome] = []

    def submitted() -> Iterator[PrefectFuture[ValidationReport]]:
        for number, shard in enumerate(_shards_of(chosen)):
            if session.is_over:
                return
            yield validate_shard.submit(session, number, shard, config)

    def commit(number: int, report: ValidationReport) -> None:
        commit_verdicts(session, number, report, config.run_id, asdict(config))
        outcomes.extend(report.outcomes)

    commit_in_order(submitted(), commit, pool.num_workers + 1)
    return outcomes, len(candidates) - len(outcomes)


def summarise(
    corpus: Corpus,
    config: ValidationConfig,
    model_ids: Sequence[str] | None,
    num_now: int,
    num_left: int,
    seconds: float,
) -> ValidationSummary:
    """Return the figures of a run beside the verdicts that stand, of the models asked for."""
    ids = None if model_ids is None else list(model_ids)
    rows = run_query(corpus, "validation_summary", {"levels": LEVELS_REACHED[config.level], "model_ids": ids})
    return ValidationSummary(str(corpus.root), config.level, num_now, num_left, tuple(rows), seconds)


def new_run_id() -> str:
    """Return an id that says when the run began."""
    return f"validate-{datetime.now(UTC):%Y%m%dT%H%M%S}-{secrets.token_hex(3)}"


def _advance(reporter: Reporter) -> Callable[[GraphOutcome], None]:
    return lambda outcome: reporter.advance(outcome.model_id, outcome.has_failed)


def _shards_of(candidates: Sequence[Candidate]) -> Iterator[tuple[Candidate, ...]]:
    for start in range(0, len(candidates), _GRAPHS_PER_SHARD):
        yield tuple(candidates[start : start + _GRAPHS_PER_SHARD])
