"""One shard of models to staged tables: trace each in a sandbox, validate its graphs, write what came of it.

A model that cannot be traced becomes one row of `failures`; a validation that fails as a whole becomes verdicts that
say so. Every model has a row in `models`, traced or not. Where the function mode had to run on real tensors, Dynamo's
parts of the same model are asked for apart; where there are none, a row of `failures` says why beside the trace.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa
from prefect import task
from prefect.cache_policies import NO_CACHE

from extract.failure import Reason
from extract.hub_config import ModelConfig
from extract.model_ref import ModelRef
from extract.sandbox import ChildFailed, Sandbox
from extract.sandbox_frames import Header
from storage.corpus import Corpus, Staged
from storage.records import (
    Failure,
    failure_table,
    join_parts,
    model_table,
    rows_to_table,
    split_graphs,
    tables_from_bytes,
    tables_to_bytes,
)
from tasks.sandbox_pool import SandboxPool

DISCOVER_STEP, TRACE_STEP = "discover", "trace"
PARTS_STEP = "dynamo_parts"
TRACE_STEP_VERSION = 2  # 2: what depends on values of its input is traced on real tensors
CONSTRAINTS = (
    "runnable",
    "serializable",
    "decomposable",
    "statically_analyzable",
    "custom_op_accessible",
    "specialised",
)


@dataclass(frozen=True, slots=True)
class TraceShardConfig:
    """How a shard is traced: models above `max_params` parameters are dropped, verdicts are given at `level`, and
    `tracer` is `function` or `dynamo`."""

    run_id: str
    max_params: int | None = None
    level: str = "fake"
    tracer: str = "function"


@dataclass(frozen=True, slots=True)
class ModelOutcome:
    """What became of one model; `reason` is null where it was traced. `seconds` is wall time, validation included."""

    model_id: str
    reason: Reason | None
    seconds: float


@dataclass(frozen=True, slots=True)
class ShardReport:
    """What became of a shard; its rows are durable but belong to no manifest yet."""

    staged: Staged
    outcomes: tuple[ModelOutcome, ...]


@dataclass
class TraceSession:
    """What the shards of one run share: the corpus, the sandboxes, and who is told about each model."""

    corpus: Corpus
    pool: SandboxPool
    on_model: Callable[[ModelOutcome], None]


@dataclass(slots=True)
class ShardRows:
    """Tables of a shard as they grow, in the order of its models."""

    tables: dict[str, list[pa.Table]] = field(default_factory=dict[str, list[pa.Table]])

    def add(self, tables: dict[str, pa.Table]) -> None:
        """Append the rows of one model."""
        for name, rows in tables.items():
            self.tables.setdefault(name, []).append(rows)

    def merged(self) -> dict[str, pa.Table]:
        """Return all rows, by table."""
        return {name: pa.concat_tables(parts) for name, parts in self.tables.items()}


@task(name="discover-models", cache_policy=NO_CACHE, persist_result=False)
def discover_models(session: TraceSession, source: str, heads: Sequence[str]) -> list[ModelRef]:
    """Return the models that a source names, in its order; raises ChildFailed when the source itself fails."""
    with session.pool.lease() as sandbox:
        reply, _ = session.pool.ask(sandbox, {"do": "discover", "source": source, "heads": list(heads)})
    if failure := reply.get("failure"):
        raise ChildFailed(Reason(failure["reason"]), failure["detail"])
    return [ModelRef(**fields) for fields in reply["models"]]


@task(name="trace-shard", task_run_name="trace-shard-{number}", cache_policy=NO_CACHE, persist_result=False)
def trace_shard(
    session: TraceSession, number: int, models: Sequence[ModelRef], config: TraceShardConfig
) -> ShardReport:
    """Trace the models of one shard in one sandbox and stage their rows; raises Stopped, StartFailed, WriteError."""
    rows, outcomes = ShardRows(), list[ModelOutcome]()
    with session.pool.lease() as sandbox:
        for model in models:
            outcome, tables = trace_one(session.pool, sandbox, model, config)
            rows.add(tables)
            outcomes.append(outcome)
            session.on_model(outcome)
    return ShardReport(session.corpus.stage(rows.merged(), config.run_id), tuple(outcomes))


@task(name="commit-shard", task_run_name="commit-shard-{number}", cache_policy=NO_CACHE, persist_result=False)
def commit_shard(
    session: TraceSession, number: int, report: ShardReport, run_id: str, config: dict[str, object]
) -> int:
    """Make a staged shard part of the corpus, first-seen rows winning; return the number of the manifest."""
    return session.corpus.commit(report.staged, run_id, config).number


def trace_one(
    pool: SandboxPool,
    sandbox: Sandbox,
    model: ModelRef,
    config: TraceShardConfig,
    built_from: ModelConfig | None = None,
) -> tuple[ModelOutcome, dict[str, pa.Table]]:
    """Trace and validate one model; its rows, or its row of failures, by table.

    `built_from` is the config of a model that its source cannot name by its id alone.
    """
    started = time.perf_counter()
    request = {"do": "trace", "model_id": model.model_id, "max_params": config.max_params, "tracer": config.tracer}
    if built_from is not None:
        request["config"] = asdict(built_from)
    try:
        tables, fell_back = _ask_trace(pool, sandbox, model, request)
    except ChildFailed as error:
        return drop(model, error.reason, error.detail, config.run_id, seconds=time.perf_counter() - started)
    failures: pa.Table | None = None
    if fell_back:
        try:
            parts, _ = _ask_trace(pool, sandbox, model, {**request, "tracer": "dynamo", "first_part": 1})
            tables = join_parts([tables, parts])
        except ChildFailed as error:
            failures = _failed_parts(model, error, config.run_id)
    verdicts = [
        validate_one(pool, sandbox, tables_to_bytes(rows), signature, config.level)
        for signature, rows in split_graphs(tables)
    ]
    tables["constraints"] = pa.concat_tables(verdicts)
    if failures is not None:
        tables["failures"] = failures
    return ModelOutcome(model.model_id, None, time.perf_counter() - started), tables


def _ask_trace(
    pool: SandboxPool, sandbox: Sandbox, model: ModelRef, request: Header
) -> tuple[dict[str, pa.Table], bool]:
    """Return the tables of a trace and whether it fell back to real tensors; raises ChildFailed whatever failed."""
    reply, payload = pool.ask(sandbox, request)
    if reply.get("failure"):
        raise ChildFailed(*read_failure(reply["failure"]))
    try:
        return _trace_reply(model, payload, request), reply.get("fell_back") is True
    except ChildFailed:
        sandbox.close()
        raise


def _failed_parts(model: ModelRef, error: ChildFailed, run_id: str) -> pa.Table:
    failure = Failure(model.model_id, PARTS_STEP, error.reason, error.detail, run_id, None, datetime.now(UTC))
    return failure_table([failure])


def _trace_reply(model: ModelRef, payload: bytes, request: Header) -> dict[str, pa.Table]:
    """Read the tables of a trace; raises ChildFailed with reason `bad_reply` where a child sent something else."""
    try:
        tables = tables_from_bytes(payload)
        sources, graphs = tables["graph_sources"], tables["graphs"].column("signature_sha256").to_pylist()
        first = request.get("first_part", 0)
        if tables["models"].column("model_id").to_pylist() != [model.model_id] or not sources.num_rows:
            raise ValueError(f"rows of {tables['models'].num_rows} models, {sources.num_rows} parts")
        if set(sources.column("model_id").to_pylist()) != {model.model_id}:
            raise ValueError(f"parts of {sources.column('model_id').to_pylist()}")
        if sources.column("part").to_pylist() != list(range(first, first + sources.num_rows)):
            raise ValueError(f"parts {sources.column('part').to_pylist()}")
        if list(dict.fromkeys(sources.column("signature_sha256").to_pylist())) != graphs:
            raise ValueError(f"{sources.num_rows} parts that are not its {len(graphs)} graphs")
    except (ValueError, TypeError, KeyError, pa.ArrowException) as error:
        raise ChildFailed(Reason.BAD_REPLY, f"not the tables of one trace: {type(error).__name__}: {error}") from error
    return tables


def read_failure(fields: Any) -> tuple[Reason, str]:
    """Return reason and detail as a child gave them; `bad_reply` where they are none."""
    try:
        return Reason(str(fields["reason"])), str(fields["detail"]).encode("utf-8", "replace").decode()[:2000]
    except (ValueError, TypeError, KeyError) as error:
        return Reason.BAD_REPLY, f"not a failure: {type(error).__name__}: {error}"


def validate_one(pool: SandboxPool, sandbox: Sandbox, payload: bytes, signature: str, level: str) -> pa.Table:
    """Return the verdicts on one graph, whose rows are the payload; all failed, with the reason, where asking did."""
    try:
        reply, verdicts = pool.ask(sandbox, {"do": "validate", "level": level}, payload)
        failure = reply.get("failure")
    except ChildFailed as error:
        failure, verdicts = {"reason": error.reason, "detail": error.detail}, b""
    if not failure:
        try:
            return tables_from_bytes(verdicts)["constraints"]
        except (ValueError, TypeError, KeyError, pa.ArrowException) as error:
            sandbox.close()
            failure = {"reason": Reason.BAD_REPLY, "detail": f"not a table of verdicts: {error}"}
    verdict = {
        "signature_sha256": signature,
        "outcome": "failed",
        "level": level,
        "reason": str(read_failure(failure)[0]),
        "detail": read_failure(failure)[1],
    }
    return rows_to_table("constraints", [{**verdict, "constraint": name} for name in CONSTRAINTS])


def count_reasons(outcomes: Sequence[ModelOutcome]) -> Counter[Reason]:
    """Count the models that were dropped, by reason."""
    return Counter(outcome.reason for outcome in outcomes if outcome.reason is not None)


def drop(
    model: ModelRef, reason: Reason, detail: str, run_id: str, step: str = TRACE_STEP, seconds: float | None = None
) -> tuple[ModelOutcome, dict[str, pa.Table]]:
    """Return what stands for a model that a step dropped: its outcome, its row and that of its failure."""
    failure = Failure(model.model_id, step, reason, detail, run_id, seconds, datetime.now(UTC), TRACE_STEP_VERSION)
    tables = {"models": model_table([model]), "failures": failure_table([failure])}
    return ModelOutcome(model.model_id, reason, seconds or 0.0), tables
