"""Models in, deduplicated graphs out: discover, trace shards, validate, dedup and commit, report.

The manifest alone decides what is done: a run traces what the corpus lacks, commits shards in the order of the source
(so that the first-seen winner does not depend on timing) and can be killed at any moment and started again.
"""

from __future__ import annotations

import os
import secrets
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

from prefect import flow
from prefect.task_runners import TaskRunner, ThreadPoolTaskRunner

from extract.model_ref import ModelRef
from extract.sandbox import ChildFailed, Limits, StartFailed
from flows.hub_plan import RepoChoice, check_trust, choose_repos
from flows.hub_refresh import trace_hub
from flows.in_order import commit_in_order
from flows.later_steps import plan_later_steps, take_later_steps
from flows.progress import REPORTER, Reporter
from flows.refresh_plan import (
    ModelChoice,
    check_tracer,
    choose_models,
    considered_models,
    models_to_trace,
    shards_of,
)
from flows.refresh_report import RefreshSummary, publish_artifacts, summarise
from flows.validate import validate_missing
from storage.corpus import Corpus
from storage.errors import CorpusError
from storage.hub_transport import CallLimits
from tasks.levels import check_level
from tasks.sandbox_pool import SandboxPool
from tasks.trace import (
    TRACE_STEP_VERSION,
    ModelOutcome,
    ShardReport,
    TraceSession,
    TraceShardConfig,
    commit_shard,
    discover_models,
    trace_shard,
)
from tasks.validate import ValidationConfig

REAL_SECONDS = 600.0  # 40 starter models took two workers 69 s; what is left is for another run


class TooManyFailures(CorpusError):
    """More models failed than the run allows; what was traced is committed."""

    def __init__(self, what: str, remedy: str, summary: RefreshSummary) -> None:
        super().__init__(what, remedy)
        self.args = (what, remedy, summary)
        self.summary = summary


@dataclass(frozen=True, slots=True)
class RefreshConfig:
    """What a run was given, as its manifests record it."""

    source: str
    models_file: str | None
    limit: int | None
    workers: int
    max_params: int | None
    max_failed_frac: float
    import_modules: tuple[str, ...]
    model_seconds: float
    retry_failed: bool = False
    heads: str = "base"
    tracer: str = "function"
    level: str = "fake"
    real_limit: int | None = None
    real_seconds: float = REAL_SECONDS
    repo_list: str | None = None
    query: str | None = None
    sort: str | None = None
    call_seconds: float = CallLimits().call_seconds
    mine: bool = False
    trust_remote_code: bool = False
    curves: str = ""
    generalize: bool = False
    bench: bool = False
    trace_step_version: int = TRACE_STEP_VERSION


@flow(name="refresh", task_runner=cast("TaskRunner[Any]", ThreadPoolTaskRunner()), persist_result=False)
def refresh(
    corpus: str = "data/corpus",
    source: str = "starter",
    models_file: str | None = None,
    limit: int | None = None,
    workers: int | None = None,
    max_params: int | None = None,
    max_failed_frac: float = 0.2,
    import_modules: Sequence[str] = (),
    model_seconds: float = Limits().seconds,
    retry_failed: bool = False,
    heads: str = "base",
    tracer: str = "function",
    level: str = "fake",
    real_limit: int | None = None,
    real_seconds: float = REAL_SECONDS,
    repo_list: str | None = None,
    query: str | None = None,
    sort: str | None = None,
    call_seconds: float = CallLimits().call_seconds,
    mine: bool = False,
    trust_remote_code: bool = False,
    curves: str = "",
    generalize: bool = False,
    bench: bool = False,
) -> RefreshSummary:
    """Trace what the corpus lacks of a source and return what came of it.

    `workers` is the number of tracing children (default: one per CPU), `max_params` drops larger models,
    `import_modules` are imported in each child first and may register further models, `model_seconds` bounds the trace
    and the validation of each model, `retry_failed` tries again what failed before; `source` and `heads` may name
    several, comma-separated; `tracer` is `function` or `dynamo`. `level` is that of the verdicts: at `real`, what
    `fake` gives comes with each trace, and when all is traced the graphs of these models are run on real tensors, the
    smallest first, at most `real_limit` graphs and none begun after `real_seconds`. Source `hub` takes the repositories
    of the file `repo_list`, or the first `limit` of those whose names hold `query`, in the order of `sort`; no call to
    the Hub takes longer than `call_seconds`; with `trust_remote_code` the code that a repository brings for its model
    is executed, in children without network that write no file outside their folder. With `curves`, targets by commas,
    the kernel curves that the corpus then lacks are made; with `mine` the subgraphs of what it then holds are mined, as
    `flows.mine` does by default, and the fusible ones of each target; with `generalize` subgraphs without instances
    get theirs; with `bench` the tasks of PassBench are built anew. Raises UsageError before anything is written,
    TooManyFailures at the end when more than `max_failed_frac` of the models stand failed.
    """
    started = time.monotonic()
    config = RefreshConfig(
        source,
        models_file,
        limit,
        workers or os.cpu_count() or 1,
        max_params,
        max_failed_frac,
        tuple(import_modules),
        model_seconds,
        retry_failed,
        heads,
        tracer,
        check_level(level),
        real_limit,
        real_seconds,
        repo_list,
        query,
        sort,
        call_seconds,
        mine,
        trust_remote_code,
        curves,
        generalize,
        bench,
    )
    later = plan_later_steps(curves, mine, generalize, bench)
    check_tracer(tracer)
    models_path = Path(models_file) if models_file else None
    repos = choose_repos(source, Path(repo_list) if repo_list else None, query, sort, limit, models_path)
    check_trust(trust_remote_code, source)
    choice = None if repos else choose_models(source, models_path, limit, heads)
    reporter = REPORTER.get()
    with Corpus.create(corpus) as opened:
        limits = Limits(seconds=model_seconds)
        pool = SandboxPool(config.workers, config.import_modules, limits, trusts_code=trust_remote_code)
        session = TraceSession(opened, pool, lambda outcome: _advance(reporter, outcome))
        try:
            if repos is not None:
                models, outcomes = _trace_hub(session, repos, config, reporter)
            elif choice is not None:
                models = considered_models(choice, _named_models(session, choice, reporter))
                outcomes = trace_and_commit(session, models, config, reporter)
            else:
                raise ValueError("neither repositories nor models were chosen")
            checked = check_on_real(session, models, config, reporter) if level == "real" else (0, 0)
        except (StartFailed, ChildFailed) as error:
            raise CorpusError(
                f"models cannot be traced here ({error})", "check --import and the installation"
            ) from error
        finally:
            pool.close()
        take_later_steps(opened, later, config.workers, max_params, reporter)
        return finish(opened, models, outcomes, config, reporter, started, checked)


def _named_models(session: TraceSession, choice: ModelChoice, reporter: Reporter) -> list[ModelRef]:
    named: list[ModelRef] = []
    for source in choice.sources:
        reporter.stage(f"naming the models of {source}")
        named += discover_models(session, source, choice.heads)
    return named


def _trace_hub(
    session: TraceSession, repos: RepoChoice, config: RefreshConfig, reporter: Reporter
) -> tuple[list[ModelRef], list[ModelOutcome]]:
    return trace_hub(
        session,
        repos,
        _shard_config(config),
        asdict(config),
        config.workers,
        CallLimits(call_seconds=config.call_seconds),
        config.retry_failed,
        reporter,
        config.trust_remote_code,
    )


def _shard_config(config: RefreshConfig) -> TraceShardConfig:
    level = "fake" if config.level == "real" else config.level
    return TraceShardConfig(new_run_id(), config.max_params, level, config.tracer)


def trace_and_commit(
    session: TraceSession, models: Sequence[ModelRef], config: RefreshConfig, reporter: Reporter
) -> list[ModelOutcome]:
    """Trace the models that the corpus lacks; a shard is committed after all before it, so any kill leaves a prefix."""
    missing = models_to_trace(session.corpus, models, config.max_params, TRACE_STEP_VERSION, config.retry_failed)
    reporter.begin(len(missing))
    shard_config = _shard_config(config)
    recorded = asdict(config)
    outcomes: list[ModelOutcome] = []

    def commit(number: int, report: ShardReport) -> None:
        commit_shard(session, number, report, shard_config.run_id, recorded)
        outcomes.extend(report.outcomes)

    shards = enumerate(shards_of(missing, config.workers))
    submitted = (trace_shard.submit(session, number, shard, shard_config) for number, shard in shards)
    commit_in_order(submitted, commit, config.workers + 1)
    return outcomes


def check_on_real(
    session: TraceSession, models: Sequence[ModelRef], config: RefreshConfig, reporter: Reporter
) -> tuple[int, int]:
    """Run graphs of these models on real tensors, within the run's bounds; return how many, and how many are left."""
    validation = ValidationConfig(
        new_run_id(), "real", fidelity=True, max_params=config.max_params, max_seconds=config.real_seconds
    )
    model_ids = [model.model_id for model in models]
    outcomes, num_left = validate_missing(
        session.corpus, session.pool, validation, model_ids, config.real_limit, reporter
    )
    return len(outcomes), num_left


def finish(
    corpus: Corpus,
    models: Sequence[ModelRef],
    outcomes: Sequence[ModelOutcome],
    config: RefreshConfig,
    reporter: Reporter,
    started: float,
    checked: tuple[int, int] = (0, 0),
) -> RefreshSummary:
    """Compact where worthwhile, rewrite the catalogue, publish the figures; raises TooManyFailures.

    `checked` counts the graphs run on real tensors, and those left for another run.
    """
    reporter.stage("writing the catalogue")
    if corpus.is_fragmented():
        corpus.compact()
    corpus.write_catalogue()
    figures = summarise(corpus, models, outcomes, time.monotonic() - started)
    summary = replace(figures, num_checked_now=checked[0], num_unchecked=checked[1])
    publish_artifacts(summary)
    if summary.failed_frac > config.max_failed_frac:
        raise TooManyFailures(
            f"{summary.num_failed} of {summary.num_considered} models failed ({summary.failed_frac:.1%}), "
            f"more than --max-failed-frac {config.max_failed_frac:g}",
            f'see `passnet sql "SELECT subject, reason, detail FROM current_failures" --corpus {corpus.root}`',
            summary,
        )
    return summary


def new_run_id() -> str:
    """Return an id that says when the run began."""
    return f"refresh-{datetime.now(UTC):%Y%m%dT%H%M%S}-{secrets.token_hex(3)}"


def _advance(reporter: Reporter, outcome: ModelOutcome) -> None:
    reporter.advance(outcome.model_id, outcome.reason is not None)
