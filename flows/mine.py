"""Stored graphs in, subgraphs out: learn or load the grammar, cut shards in worker processes, commit in order.

A run can be killed at any moment and started again: the manifest alone decides which graphs were searched.
"""

from __future__ import annotations

import os
import secrets
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, cast

from prefect import flow
from prefect.futures import PrefectFuture
from prefect.task_runners import TaskRunner, ThreadPoolTaskRunner

from flows.curve_plan import check_targets
from flows.in_order import commit_in_order
from flows.mining_plan import DEFAULT_KINDS, FUSIBLE_TARGET, MAX_LENGTH, NUM_FOLDS, MiningConfig, check_kinds
from flows.progress import REPORTER, Reporter
from mining.folding import FoldingConfig
from mining.subgraph import CLASSICAL, FUSIBLE, SINGLE_OP
from storage.corpus import Corpus
from storage.grammars import StoredGrammar, latest_grammar
from storage.query import run_query
from tasks.curves import CurveJob
from tasks.mine import (
    Candidate,
    MiningReport,
    MiningSession,
    find_candidates,
    learn_grammar,
    list_single_ops,
    mine_classical,
    shards_by_ops,
    start_workers,
    without_mined,
)
from tasks.mine_fusible import curves_id, find_curved, mine_fusible

_OPS_PER_SHARD = 20_000  # what a kill loses at most, per worker: some ten seconds


@dataclass(frozen=True, slots=True)
class MiningSummary:
    """Figures of one run: the grammar in use, graphs searched now, and the subgraphs that now stand, as rows of
    `storage/sql/mining_summary.sql`. `seconds` is wall time."""

    corpus: str
    grammar_id: str | None
    has_learned: bool
    num_patterns: int
    num_graphs_now: int
    kinds: tuple[dict[str, Any], ...]
    seconds: float


@dataclass(frozen=True, slots=True)
class Mining:
    """What a run of mining did: the grammar in use (None: no graph asked for one), and graphs searched."""

    stored: StoredGrammar | None
    has_learned: bool
    num_graphs: int


@flow(name="mine", task_runner=cast("TaskRunner[Any]", ThreadPoolTaskRunner()), persist_result=False)
def mine(
    corpus: str = "data/corpus",
    kinds: str = ",".join(DEFAULT_KINDS),
    learn: bool = False,
    num_folds: int = NUM_FOLDS,
    max_length: int = MAX_LENGTH,
    workers: int | None = None,
    target: str = FUSIBLE_TARGET,
) -> MiningSummary:
    """Mine the subgraphs of the stored graphs that were not searched yet, and return what stands then.

    Graphs are read by the grammar that was learned last; where there is none, or with `learn`, one is learned from
    all graphs. `workers` is the number of processes (default: one per CPU); kernel curves for `target` tell what is
    fusible. Raises UsageError before any write.
    """
    started = time.monotonic()
    (target,) = check_targets(target)
    num_workers = workers or os.cpu_count() or 1
    config = MiningConfig(check_kinds(kinds), learn, num_folds, max_length, num_workers, target)
    reporter = REPORTER.get()
    with Corpus.open(corpus, write=True) as opened:
        mining = mine_corpus(opened, config, reporter)
        reporter.stage("writing the catalogue")
        if opened.is_fragmented():
            opened.compact()
        opened.write_catalogue()
        return MiningSummary(
            str(opened.root),
            mining.stored.grammar_id if mining.stored else None,
            mining.has_learned,
            len(mining.stored.grammar.patterns) if mining.stored else 0,
            mining.num_graphs,
            tuple(run_query(opened, "mining_summary")),
            time.monotonic() - started,
        )


def mine_corpus(corpus: Corpus, config: MiningConfig, reporter: Reporter) -> Mining:
    """Search what was not searched yet and commit it; runs within a flow."""
    candidates = find_candidates(corpus)
    before = latest_grammar(corpus)
    stored, num_graphs = before, 0
    with start_workers(config.workers) as pool:
        session = MiningSession(corpus, pool, new_run_id())
        if CLASSICAL in config.kinds and candidates:
            if stored is None or config.learn:
                reporter.stage("learning the grammar")
                folding = FoldingConfig(config.num_folds, config.max_length)
                stored = learn_grammar(corpus, candidates, folding, session.run_id)
            num_graphs = mine_missing(session, stored, candidates, config.workers, reporter)
        if SINGLE_OP in config.kinds:
            reporter.stage("listing single ops")
            corpus.commit(list_single_ops(session), session.run_id)
        if FUSIBLE in config.kinds:
            num_graphs += mine_curves(session, CurveJob(session.run_id, config.target), config.workers, reporter)
    return Mining(stored, stored is not before, num_graphs)


def mine_missing(
    session: MiningSession,
    stored: StoredGrammar,
    candidates: Sequence[Candidate],
    num_workers: int,
    reporter: Reporter,
) -> int:
    """Search the graphs that lack it, shards committed in order; return how many."""
    missing = without_mined(session.corpus, candidates, CLASSICAL, stored.grammar_id)
    reporter.begin(len(missing), "mining", "mined", "graphs")
    shards = enumerate(shards_by_ops(missing, _OPS_PER_SHARD))
    submitted = (mine_classical.submit(session, number, stored, shard) for number, shard in shards)
    _commit_in_order(session, submitted, {"grammar_id": stored.grammar_id}, num_workers, reporter)
    return len(missing)


def mine_curves(session: MiningSession, job: CurveJob, num_workers: int, reporter: Reporter) -> int:
    """Search the graphs with a curve for fusible subgraphs, shards committed in order; return how many."""
    missing, id_ = find_curved(session.corpus, job), curves_id(job)
    reporter.begin(len(missing), "reading curves", "read", "graphs")
    shards = enumerate(shards_by_ops(missing, _OPS_PER_SHARD))
    submitted = (mine_fusible.submit(session, number, id_, shard) for number, shard in shards)
    _commit_in_order(session, submitted, {"grammar_id": id_, "target": job.target}, num_workers, reporter)
    return len(missing)


def _commit_in_order(
    session: MiningSession,
    submitted: Iterable[PrefectFuture[MiningReport]],
    config: dict[str, object],
    num_workers: int,
    reporter: Reporter,
) -> None:
    def commit(_: int, report: MiningReport) -> None:
        session.corpus.commit(report.staged, session.run_id, config)
        for _ in range(report.num_graphs):
            reporter.advance("", False)

    commit_in_order(submitted, commit, num_workers + 1)


def new_run_id() -> str:
    """Return an id that says when the run began."""
    return f"mine-{datetime.now(UTC):%Y%m%dT%H%M%S}-{secrets.token_hex(3)}"
