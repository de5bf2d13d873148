"""One trace for all models of equal config: the first of them is traced, the others get rows that say so.

A group is committed whole, so that a run that is killed and started again chooses the same models to trace.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from prefect import task
from prefect.cache_policies import NO_CACHE

from extract.failure import Reason
from extract.hub_config import ModelConfig
from extract.model_ref import ModelRef
from storage.corpus import Corpus
from storage.queries import query_text
from storage.records import config_table, model_table
from tasks.trace import ModelOutcome, ShardReport, ShardRows, TraceSession, TraceShardConfig, drop, trace_one

# What a trace shows of the model, and so of all that are equal to it.
_SHOWN = (
    "num_parameters",
    "modalities",
    "modalities_received",
    "inputs",
    "num_guesses",
    "parameters_used_frac",
    "unused_reason",
)


@dataclass(frozen=True, slots=True)
class KnownConfig:
    """What a corpus has of a config: the model whose trace stands for it, or for good could not be traced."""

    model_id: str
    failure: tuple[Reason, str] | None


@dataclass(frozen=True, slots=True)
class ConfigGroup:
    """Models of one config, in the order in which they were asked for; `known` where the corpus has the config."""

    config: ModelConfig
    models: tuple[ModelRef, ...]
    known: KnownConfig | None = None


def known_configs(corpus: Corpus, config_sha256s: Sequence[str], step_version: int) -> dict[str, KnownConfig]:
    """Return what the corpus has of these configs, whatever source it came from; a trace goes before a failure."""
    with corpus.connect(("models", "graph_sources", "failures")) as connection:
        rows = connection.execute(
            query_text("known_configs"),
            {
                "config_sha256s": list(config_sha256s),
                "step_version": step_version,
                "open_reasons": [*(reason.value for reason in Reason if reason.is_transient), "over_max_params"],
            },
        ).fetchall()
    return {
        config: KnownConfig(model_id, None if reason is None else (Reason(reason), detail))
        for config, model_id, reason, detail in rows
    }


@task(name="trace-groups", task_run_name="trace-groups-{number}", cache_policy=NO_CACHE, persist_result=False)
def trace_groups(
    session: TraceSession, number: int, groups: Sequence[ConfigGroup], config: TraceShardConfig
) -> ShardReport:
    """Trace the groups of one shard in one sandbox and stage their rows; raises Stopped, StartFailed, WriteError."""
    rows, outcomes = ShardRows(), list[ModelOutcome]()
    unknown = [group for group in groups if group.known is None]
    known = [group for group in groups if group.known is not None]
    standing = _read_standing(session.corpus, known)
    for group in known:
        _add(session, _rows_of_known(standing, group, config), rows, outcomes)
    if unknown:
        with session.pool.lease() as sandbox:
            for group in unknown:
                first = group.models[0]
                outcome, tables = trace_one(session.pool, sandbox, first, config, group.config)
                _add(session, _rows_of_traced(group, outcome, tables, config), rows, outcomes)
    return ShardReport(session.corpus.stage(rows.merged(), config.run_id), tuple(outcomes))


Rows = tuple[list[ModelOutcome], list[dict[str, pa.Table]]]


def _add(session: TraceSession, made: Rows, rows: ShardRows, outcomes: list[ModelOutcome]) -> None:
    for outcome in made[0]:
        outcomes.append(outcome)
        session.on_model(outcome)
    for tables in made[1]:
        rows.add(tables)


def _rows_of_traced(
    group: ConfigGroup, outcome: ModelOutcome, tables: dict[str, pa.Table], config: TraceShardConfig
) -> Rows:
    first, others = group.models[0], group.models[1:]
    tables = {**tables, "model_configs": config_table([group.config])}
    if outcome.reason is not None:
        detail = tables["failures"].column("detail")[0].as_py()
        return _failed([outcome], [tables], first.model_id, (outcome.reason, detail), others, config)
    traced = tables["models"].to_pylist()[0]
    tables["models"] = model_table([_as_shown(first, traced)])
    followers = [_follower(model, traced, tables["graph_sources"], first.model_id) for model in others]
    return [outcome, *(ModelOutcome(model.model_id, None, 0.0) for model in others)], [tables, *followers]


def _read_standing(corpus: Corpus, groups: Sequence[ConfigGroup]) -> dict[str, tuple[dict[str, Any], pa.Table]]:
    """Return row and sources of the models whose traces stand for these groups, by id; read at once for all."""
    model_ids = [group.known.model_id for group in groups if group.known and group.known.failure is None]
    if not model_ids:
        return {}
    among = pc.field("model_id").isin(model_ids)
    sources = corpus.read("graph_sources", filters=among)
    rows = {row["model_id"]: row for row in corpus.read("models", filters=among).to_pylist()}
    return {one: (rows[one], sources.filter(pc.field("model_id") == one).sort_by("part")) for one in model_ids}


def _rows_of_known(
    standing: dict[str, tuple[dict[str, Any], pa.Table]], group: ConfigGroup, config: TraceShardConfig
) -> Rows:
    known = group.known
    if known is None:
        raise ValueError(f"the corpus does not have config {group.config.config_sha256}")
    tables = {"model_configs": config_table([group.config])}
    if known.failure is not None:
        return _failed([], [tables], known.model_id, known.failure, group.models, config)
    traced, sources = standing[known.model_id]
    followers = [_follower(model, traced, sources, known.model_id) for model in group.models]
    return [ModelOutcome(model.model_id, None, 0.0) for model in group.models], [tables, *followers]


def _failed(
    outcomes: list[ModelOutcome],
    tables: list[dict[str, pa.Table]],
    first: str,
    failure: tuple[Reason, str],
    others: Sequence[ModelRef],
    config: TraceShardConfig,
) -> Rows:
    """Let what stands against the first model of a config stand against the others."""
    for model in others:
        told = drop(replace(model, traced_from=first), failure[0], f"{failure[1]} (as {first})", config.run_id)
        outcomes.append(told[0])
        tables.append(told[1])
    return outcomes, tables


def _follower(model: ModelRef, traced: dict[str, Any], sources: pa.Table, first: str) -> dict[str, pa.Table]:
    """Return the rows of a model that another's trace stands for; no time was spent on it."""
    count = sources.num_rows
    replaced = {
        "model_id": pa.array([model.model_id] * count, pa.string()),
        "build_seconds": pa.nulls(count, pa.float64()),
        "trace_seconds": pa.nulls(count, pa.float64()),
    }
    for name, values in replaced.items():
        index = sources.schema.get_field_index(name)
        sources = sources.set_column(index, sources.schema.field(index), values)
    shown = replace(_as_shown(model, traced), traced_from=first)
    return {"models": model_table([shown]), "graph_sources": sources}


def _as_shown(model: ModelRef, traced: dict[str, Any]) -> ModelRef:
    """Return the record of a model with what the trace of its config showed."""
    return replace(
        model,
        domain=model.domain or traced["domain"],
        **{name: traced[name] for name in _SHOWN},
    )
