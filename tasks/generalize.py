"""One shard of stored graphs to the staged instances of their subgraphs: ask a child for each graph, check, write."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, Final

import pyarrow as pa
from prefect import task
from prefect.cache_policies import NO_CACHE

from extract.failure import Reason
from extract.hub_config import ModelConfig
from extract.sandbox import ChildFailed, Sandbox
from mining.subgraph import KINDS, SINGLE_OP
from storage.corpus import Corpus, Staged
from storage.model_configs import configs_of_models
from storage.payloads import graph_payloads
from storage.query import run_query
from storage.records import Failure, failure_table, tables_from_bytes
from storage.schemas import SCHEMAS
from storage.single_op_places import single_op_places
from tasks.generalize_worker import TABLES
from tasks.sandbox_pool import SandboxPool
from tasks.second_places import SecondPlaces

STEP = "generalize"
FEW_OPS: Final = 2000
"""Ops within which places are as good as one another; behind them the fewer ops are to be traced, the better: by the
lowest signature alone a model of 43,378 ops was traced for 153 subgraphs, 148 of which smaller graphs hold. Ours."""


@dataclass(frozen=True, slots=True)
class GeneralizeJob:
    """What a run was given: `max_bytes` an instance may move at least, `max_params` (elements) of a model,
    `model_seconds` after which no more variants of one are traced, and the kinds of subgraphs."""

    run_id: str
    max_bytes: int
    max_params: int | None
    model_seconds: float
    kinds: tuple[str, ...] = KINDS


@dataclass(frozen=True, slots=True)
class Place:
    """A subgraph at ops [start, end) of a graph; a single op goes by its own key instead of its cut's hash.
    `num_graphs` that it could be cut out of hold it."""

    subgraph_sha256: str
    start: int
    end: int
    is_single_op: bool = False
    num_graphs: int = 1


@dataclass(frozen=True, slots=True)
class Candidate:
    """A stored graph, its model, and the subgraphs to be cut out of it; `is_recorded`: the model cannot be built."""

    signature_sha256: str
    model_id: str
    is_recorded: bool
    places: tuple[Place, ...]
    config: ModelConfig | None = None


@dataclass(frozen=True, slots=True)
class GeneralizeReport:
    """What became of a shard; its rows are durable but belong to no manifest yet. `failed`: graphs, by signature and
    model."""

    staged: Staged
    num_subgraphs: int
    num_instances: int
    failed: tuple[tuple[str, str], ...] = ()


@dataclass
class GeneralizeSession:
    """What the shards of one run share: corpus, children, what the run was given, and who is told of each graph."""

    corpus: Corpus
    pool: SandboxPool
    job: GeneralizeJob
    on_graph: Callable[[str, bool], None]
    second_places: SecondPlaces = field(default_factory=SecondPlaces)


def find_candidates(
    corpus: Corpus,
    model_ids: Sequence[str] | None = None,
    retry_failed: bool = False,
    kinds: Sequence[str] = KINDS,
    passed_over: Sequence[str] = (),
) -> list[Candidate]:
    """Return the graphs (of these models, where given) that subgraphs without a generalization are to be cut out of.

    `passed_over` are subgraphs with a graph each (`SecondPlaces`) that they are not to be cut out of. Models that
    failed before are left out but for a bound on their size, or all are in with `retry_failed`.
    """
    open_reasons = [
        str(reason) for reason in Reason if retry_failed or reason.is_transient or reason is Reason.OVER_MAX_PARAMS
    ]
    limits = {"open_reasons": open_reasons, "model_ids": None if model_ids is None else list(model_ids)}
    usable = run_query(corpus, "generalize_graphs", limits)
    single_ops = single_op_places(corpus, usable, FEW_OPS, frozenset(passed_over)) if SINGLE_OP in kinds else []
    choice = {
        "usable": usable,
        "single_ops": single_ops,
        "kinds": list(kinds),
        "passed_over": list(passed_over),
        "few_ops": FEW_OPS,
    }
    rows = run_query(corpus, "generalize_candidates", choice)
    found = [
        Candidate(
            row["signature_sha256"],
            row["model_id"],
            row["is_recorded"],
            tuple(Place(**place) for place in row["places"]),
        )
        for row in rows
    ]
    from_hub = [candidate.model_id for candidate in found if candidate.model_id.startswith("hub/")]
    configs = configs_of_models(corpus, from_hub)
    return [replace(candidate, config=configs.get(candidate.model_id)) for candidate in found]


@task(name="generalize-shard", task_run_name="generalize-shard-{number}", cache_policy=NO_CACHE, persist_result=False)
def generalize_shard(session: GeneralizeSession, number: int, candidates: Sequence[Candidate]) -> GeneralizeReport:
    """Make the instances of a shard's subgraphs in a child and stage them; raises Stopped, StartFailed, WriteError."""
    recorded = [candidate.signature_sha256 for candidate in candidates if candidate.is_recorded]
    payloads = dict(graph_payloads(session.corpus, recorded))
    tables: dict[str, list[pa.Table]] = {}
    failed: list[tuple[str, str]] = []
    with session.pool.lease() as sandbox:
        for candidate in candidates:
            made = generalize_graph(session, sandbox, candidate, payloads.get(candidate.signature_sha256, b""))
            num_graphs = {place.subgraph_sha256: place.num_graphs for place in candidate.places}
            kept = session.second_places.sift(candidate.signature_sha256, made, num_graphs)
            for name, table in kept.items():
                tables.setdefault(name, []).append(table)
            if "failures" in made:
                failed.append((candidate.signature_sha256, candidate.model_id))
            session.on_graph(candidate.model_id, "failures" in made)
    return _staged(session, {name: pa.concat_tables(parts) for name, parts in tables.items()}, failed)


@task(name="generalize-rest", cache_policy=NO_CACHE, persist_result=False)
def generalize_rest(session: GeneralizeSession) -> GeneralizeReport:
    """Stage the instances that waited for another graph, which none gave; raises WriteError."""
    return _staged(session, session.second_places.rest(), ())


def _staged(
    session: GeneralizeSession, tables: dict[str, pa.Table], failed: Sequence[tuple[str, str]]
) -> GeneralizeReport:
    staged = session.corpus.stage(tables, session.job.run_id)
    sizes = [tables[name].num_rows if name in tables else 0 for name in ("generalizations", "instances")]
    return GeneralizeReport(staged, sizes[0], sizes[1], tuple(failed))


@task(name="commit-instances", task_run_name="commit-instances-{number}", cache_policy=NO_CACHE, persist_result=False)
def commit_instances(session: GeneralizeSession, number: int, report: GeneralizeReport) -> int:
    """Make staged instances part of the corpus; return the number of the manifest."""
    return session.corpus.commit(report.staged, session.job.run_id, asdict(session.job)).number


def generalize_graph(
    session: GeneralizeSession, sandbox: Sandbox, candidate: Candidate, payload: bytes
) -> dict[str, pa.Table]:
    """Return the rows that one graph's subgraphs give, or a row of `failures`."""
    job = session.job
    request: dict[str, Any] = {
        "do": STEP,
        "model_id": candidate.model_id,
        "signature_sha256": candidate.signature_sha256,
        "ranges": [
            [place.start, place.end, place.subgraph_sha256 if place.is_single_op else None]
            for place in candidate.places
        ],
        "max_bytes": job.max_bytes,
        "max_params": job.max_params,
        "max_seconds": job.model_seconds,
        "recorded": candidate.is_recorded,
        "config": asdict(candidate.config) if candidate.config else None,
    }
    seconds = 0.0
    try:
        reply, rows = session.pool.ask(sandbox, request, payload)
        seconds = float(reply.get("seconds", 0.0))
        failure = reply.get("failure")
        if not failure:
            return _checked(rows, candidate)
        reason, detail = Reason(failure["reason"]), str(failure["detail"])
    except ChildFailed as error:
        if error.reason == Reason.BAD_REPLY:
            sandbox.close()
        reason, detail = error.reason, error.detail
    said = f"{candidate.model_id}: {detail}".encode("utf-8", "replace").decode()[:2000]
    row = Failure(candidate.signature_sha256, STEP, reason, said, job.run_id, seconds, datetime.now(UTC))
    return {"failures": failure_table([row])}


def _checked(payload: bytes, candidate: Candidate) -> dict[str, pa.Table]:
    """Return the tables of a reply; raises ChildFailed (`bad_reply`) where they are not about what was asked."""
    try:
        tables = tables_from_bytes(payload)
        if set(tables) != set(TABLES) or any(tables[name].schema != SCHEMAS[name] for name in TABLES):
            raise ValueError(f"tables {sorted(tables)}")
        found = tables["generalizations"].column("subgraph_sha256").to_pylist()
        if found != [place.subgraph_sha256 for place in candidate.places]:
            raise ValueError("rows of other subgraphs than asked for")
    except (ValueError, TypeError, KeyError, pa.ArrowException) as error:
        raise ChildFailed(Reason.BAD_REPLY, f"not the instances of one graph: {error}") from error
    return tables
