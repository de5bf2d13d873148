"""One shard of stored graphs to staged verdicts: each graph is checked in a sandbox, its rows read from the corpus.

A check that its child does not survive becomes a verdict that says so. A graph is asked only for what it lacks.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from prefect import task
from prefect.cache_policies import NO_CACHE

from extract.budget import RealBudget
from extract.failure import Reason
from extract.hub_config import ModelConfig
from extract.sandbox import ChildFailed, Sandbox
from storage.corpus import Corpus, Staged
from storage.model_configs import configs_of_models
from storage.query import run_query
from storage.records import rows_to_table, tables_from_bytes, tables_to_bytes
from tasks.levels import CHECKS, FIDELITY, LEVELS_REACHED
from tasks.sandbox_pool import SandboxPool

TRANSIENT = tuple(sorted(reason.value for reason in Reason if reason.is_transient))


@dataclass(frozen=True, slots=True)
class ValidationConfig:
    """What a run of validations was given, as its manifests record it.

    `budget` bounds one run of a graph, `max_params` (None: any size) the models that `fidelity` builds, `max_seconds`
    the whole run: no graph is begun after it. Its children have imported `import_modules`, which register ops.
    """

    run_id: str
    level: str = "fake"
    fidelity: bool = False
    budget: RealBudget = field(default_factory=RealBudget)
    max_params: int | None = None
    max_seconds: float | None = None
    import_modules: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Candidate:
    """A stored graph, one of its models (with its config, where it is one of the Hub's), and the checks it lacks."""

    signature_sha256: str
    model_id: str
    missing: tuple[str, ...]
    config: ModelConfig | None = None


@dataclass(frozen=True, slots=True)
class GraphOutcome:
    """The verdicts that one graph got now, as (constraint, outcome, reason)."""

    signature_sha256: str
    model_id: str
    verdicts: tuple[tuple[str, str, str | None], ...]

    @property
    def has_failed(self) -> bool:
        """Whether a check failed."""
        return any(outcome == "failed" for _, outcome, _ in self.verdicts)


@dataclass(frozen=True, slots=True)
class ValidationReport:
    """What became of a shard; its rows are durable but belong to no manifest yet."""

    staged: Staged
    outcomes: tuple[GraphOutcome, ...]


@dataclass
class ValidationSession:
    """What the shards of one run share: corpus, sandboxes, who is told about each graph, and when to stop."""

    corpus: Corpus
    pool: SandboxPool
    on_graph: Callable[[GraphOutcome], None]
    deadline: float | None = field(default=None)

    @property
    def is_over(self) -> bool:
        """Whether no further graph should be begun."""
        return self.deadline is not None and time.monotonic() >= self.deadline


def find_candidates(
    corpus: Corpus, config: ValidationConfig, model_ids: Sequence[str] | None = None
) -> list[Candidate]:
    """Return the graphs (of these models, where given) that lack verdicts, the smallest first.

    Where the run imports modules, a verdict that an op was not registered counts as missing.
    """
    wanted = (*CHECKS[config.level], *([FIDELITY] if config.fidelity else []))
    parameters: dict[str, object] = {
        "levels": LEVELS_REACHED[config.level],
        "open_reasons": list(TRANSIENT),
        "has_imports": bool(config.import_modules),
        "model_ids": None if model_ids is None else list(model_ids),
        "max_bytes": float(config.budget.max_bytes),
        "max_flop": float(config.budget.max_flop),
        "max_params": float("inf") if config.max_params is None else float(config.max_params),
    }
    found: list[Candidate] = []
    for row in run_query(corpus, "validation_candidates", parameters):
        missing = tuple(name for name in wanted if name not in row["judged"])
        if missing:
            found.append(Candidate(row["signature_sha256"], row["model_id"], missing))
    from_hub = [candidate.model_id for candidate in found if candidate.model_id.startswith("hub/")]
    configs = configs_of_models(corpus, from_hub)
    return [replace(candidate, config=configs.get(candidate.model_id)) for candidate in found]


@task(name="validate-shard", task_run_name="validate-shard-{number}", cache_policy=NO_CACHE, persist_result=False)
def validate_shard(
    session: ValidationSession, number: int, candidates: Sequence[Candidate], config: ValidationConfig
) -> ValidationReport:
    """Check the graphs of a shard in one sandbox and stage their verdicts; raises Stopped, StartFailed, WriteError."""
    tables: list[pa.Table] = []
    outcomes: list[GraphOutcome] = []
    with session.pool.lease() as sandbox:
        for candidate, payload in _payloads(session.corpus, candidates):
            if session.is_over:
                break
            verdicts = validate_graph(session.pool, sandbox, candidate, payload, config)
            tables.append(verdicts)
            outcomes.append(_outcome(candidate, verdicts))
            session.on_graph(outcomes[-1])
    merged = {"constraints": pa.concat_tables(tables)} if tables else {}
    return ValidationReport(session.corpus.stage(merged, config.run_id), tuple(outcomes))


@task(name="commit-verdicts", task_run_name="commit-verdicts-{number}", cache_policy=NO_CACHE, persist_result=False)
def commit_verdicts(
    session: ValidationSession, number: int, report: ValidationReport, run_id: str, config: dict[str, object]
) -> int:
    """Make staged verdicts part of the corpus; return the number of the manifest."""
    return session.corpus.commit(report.staged, run_id, config).number


def validate_graph(
    pool: SandboxPool, sandbox: Sandbox, candidate: Candidate, payload: bytes, config: ValidationConfig
) -> pa.Table:
    """Return the verdicts that one graph lacks; each says why where its child did not survive."""
    bounds = asdict(config.budget)
    made: list[pa.Table] = []
    checks = [name for name in candidate.missing if name != FIDELITY]
    if checks:
        request = {"do": "validate", "level": config.level, **bounds}
        made.append(_ask(pool, sandbox, request, payload, candidate, checks, config.level))
    if FIDELITY in candidate.missing:
        request = {"do": "fidelity", "model_id": candidate.model_id, "max_params": config.max_params, **bounds}
        if candidate.config is not None:
            request["config"] = asdict(candidate.config)
        made.append(_ask(pool, sandbox, request, payload, candidate, [FIDELITY], "real"))
    return pa.concat_tables(made)


def _ask(
    pool: SandboxPool,
    sandbox: Sandbox,
    request: dict[str, Any],
    payload: bytes,
    candidate: Candidate,
    checks: Sequence[str],
    level: str,
) -> pa.Table:
    try:
        reply, verdicts = pool.ask(sandbox, request, payload)
        failure = reply.get("failure")
        if not failure:
            return _read_verdicts(verdicts, candidate, checks)
    except ChildFailed as error:
        if error.reason == Reason.BAD_REPLY:
            sandbox.close()
        failure = {"reason": str(error.reason), "detail": error.detail}
    row = {
        "signature_sha256": candidate.signature_sha256,
        "outcome": "failed",
        "level": level,
        "reason": str(failure["reason"]),
        "detail": str(failure["detail"]).encode("utf-8", "replace").decode()[:2000],
    }
    return rows_to_table("constraints", [{**row, "constraint": name} for name in checks])


def _read_verdicts(payload: bytes, candidate: Candidate, checks: Sequence[str]) -> pa.Table:
    """Return the asked-for rows of a reply; raises ChildFailed with reason `bad_reply` where it is something else."""
    try:
        table = tables_from_bytes(payload)["constraints"]
        found = set(table.column("signature_sha256").to_pylist())
        if found != {candidate.signature_sha256} or not set(checks) <= set(table.column("constraint").to_pylist()):
            raise ValueError(f"verdicts on {found}")
    except (ValueError, TypeError, KeyError, pa.ArrowException) as error:
        raise ChildFailed(Reason.BAD_REPLY, f"not the verdicts on one graph: {error}") from error
    return table.filter(pc.field("constraint").isin(list(checks)))


def _payloads(corpus: Corpus, candidates: Sequence[Candidate]) -> Iterable[tuple[Candidate, bytes]]:
    """Yield each graph's rows as a child takes them; a shard's graphs are read together."""
    among = pc.field("signature_sha256").isin([candidate.signature_sha256 for candidate in candidates])
    tables = {name: corpus.read(name, filters=among) for name in ("graphs", "graph_texts", "nodes")}
    custom_ops = corpus.read("custom_ops")
    for candidate in candidates:
        own = {
            name: rows.filter(pc.field("signature_sha256") == candidate.signature_sha256)
            for name, rows in tables.items()
        }
        own["nodes"] = own["nodes"].sort_by("index")
        used = pc.field("name").isin(own["nodes"].column("op").unique())
        yield candidate, tables_to_bytes({**own, "custom_ops": custom_ops.filter(used)})


def _outcome(candidate: Candidate, verdicts: pa.Table) -> GraphOutcome:
    rows = verdicts.select(["constraint", "outcome", "reason"]).to_pylist()
    told = tuple((row["constraint"], row["outcome"], row["reason"]) for row in rows)
    return GraphOutcome(candidate.signature_sha256, candidate.model_id, told)
