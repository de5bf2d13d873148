"""The part of a refresh that is about the Hub: find repositories, read configs, trace each distinct config once.

The list is worked off in windows: what a window found is committed before the next begins, so a kill costs the reading
of one window at most (and its files are cached). A config that the corpus has already, from whatever source, costs no
trace.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from extract.failure import Reason
from extract.hub_config import ModelConfig
from extract.model_ref import ModelRef
from flows.hub_plan import RepoChoice, hub_model_id, hub_model_ref
from flows.in_order import commit_in_order
from flows.progress import Reporter
from flows.refresh_plan import models_to_trace, shards_of
from storage.hub import CACHE_FOLDER, Hub, Repo
from storage.hub_models import ConfigReader, HubModel
from storage.hub_transport import CallLimits
from tasks.hub import Identified, identify_configs, list_repos, read_configs
from tasks.trace import (
    DISCOVER_STEP,
    TRACE_STEP_VERSION,
    ModelOutcome,
    ShardReport,
    ShardRows,
    TraceSession,
    TraceShardConfig,
    commit_shard,
    drop,
)
from tasks.trace_groups import ConfigGroup, KnownConfig, known_configs, trace_groups

WINDOW = 1000  # repositories; their records and configs are a few MB


@dataclass(frozen=True, slots=True)
class HubRun:
    """What the windows of one run share; `recorded` is what their manifests say of the run."""

    session: TraceSession
    hub: Hub
    reader: ConfigReader
    shard_config: TraceShardConfig
    recorded: dict[str, Any]
    num_workers: int
    num_connections: int
    reporter: Reporter


def trace_hub(
    session: TraceSession,
    choice: RepoChoice,
    shard_config: TraceShardConfig,
    recorded: dict[str, Any],
    num_workers: int,
    limits: CallLimits,
    retry_failed: bool,
    reporter: Reporter,
    trusts_code: bool = False,
) -> tuple[list[ModelRef], list[ModelOutcome]]:
    """Trace what the corpus lacks of the chosen repositories; return all that were considered, and what came of those
    that it lacked. With `trusts_code`, models whose code was refused before count as lacking. Raises CorpusError when
    the Hub cannot be asked.
    """
    outcomes: list[ModelOutcome] = []
    with Hub(session.corpus.root / CACHE_FOLDER, limits) as hub:
        run = HubRun(
            session,
            hub,
            ConfigReader(hub, trusts_code),
            shard_config,
            recorded,
            num_workers,
            limits.num_connections,
            reporter,
        )
        asked = _asked_repos(run, choice)
        models = [hub_model_ref(repo_id, repo) for repo_id, repo in asked]
        missing = {
            model.model_id
            for model in models_to_trace(
                session.corpus, models, shard_config.max_params, TRACE_STEP_VERSION, retry_failed, trusts_code
            )
        }
        lacking = [one for one in asked if hub_model_id(one[0]) in missing]
        reporter.begin(len(lacking), unit="repositories", done="settled", doing="reading and tracing")
        for number, start in enumerate(range(0, len(lacking), WINDOW)):
            outcomes += _settle_window(run, number, lacking[start : start + WINDOW], retry_failed)
    return models, outcomes


def _asked_repos(run: HubRun, choice: RepoChoice) -> list[tuple[str, Repo | None]]:
    if choice.names is not None:
        return [(name, None) for name in choice.names]
    run.reporter.stage("listing repositories of the Hub")
    repos = list_repos(run.hub, choice.query or "", choice.sort, choice.limit)
    return list({repo.repo_id: (repo.repo_id, repo) for repo in repos}.values())


def _settle_window(
    run: HubRun, number: int, asked: Sequence[tuple[str, Repo | None]], retry_failed: bool
) -> list[ModelOutcome]:
    """Bring every repository of a window to rows of graph_sources or of failures, and commit them."""
    run.reporter.stage(f"reading the configs of {len(asked)} repositories")
    found = read_configs(run.reader, run.session.pool, number, asked, run.num_connections)
    identified = _identify(run, number, found)
    models: list[tuple[ModelRef, ModelConfig]] = []
    rows, outcomes = ShardRows(), list[ModelOutcome]()
    for hub_model in found:
        ref = hub_model_ref(hub_model.repo_id, hub_model.repo)
        identity = identified[hub_model.config.key()] if hub_model.config else None
        if identity is not None and identity.config is not None:
            models.append((_with_identity(ref, identity), identity.config))
            continue
        reason, detail = _why_dropped(hub_model, identity)
        outcome, tables = drop(ref, reason, detail, run.shard_config.run_id, DISCOVER_STEP)
        rows.add(tables)
        outcomes.append(outcome)
        run.session.on_model(outcome)
    report = ShardReport(run.session.corpus.stage(rows.merged(), run.shard_config.run_id), tuple(outcomes))
    commit_shard(run.session, number, report, run.shard_config.run_id, run.recorded)
    keys = [config.config_sha256 for _, config in models]
    known = known_configs(run.session.corpus, keys, TRACE_STEP_VERSION)
    if retry_failed:
        known = {key: one for key, one in known.items() if one.failure is None}
    return outcomes + _trace_in_order(run, _group_models(models, known))


def _identify(run: HubRun, number: int, found: Sequence[HubModel]) -> dict[str, Identified]:
    """Return the identity of each distinct config, by its key."""
    configs = {one.config.key(): one.config for one in found if one.config is not None}
    identities = identify_configs(run.session.pool, number, list(configs.values())) if configs else []
    return dict(zip(configs, identities, strict=True))


def _with_identity(model: ModelRef, identity: Identified) -> ModelRef:
    """Return the record of a model whose config is known."""
    config = identity.config
    if config is None:
        return model
    return replace(
        model,
        architecture=config.model_class,
        family=identity.family,
        config_sha256=config.config_sha256,
        domain=identity.domain,
        head=config.head,
        repairs=_plain(identity.repairs) if identity.repairs else None,
    )


def _why_dropped(hub_model: HubModel, identity: Identified | None) -> tuple[Reason, str]:
    if hub_model.failure is not None:
        return hub_model.failure.reason, _plain(hub_model.failure.detail)
    if identity is not None and identity.failure is not None:
        return identity.failure
    raise ValueError(f"{hub_model.repo_id} has neither a config nor a reason why")


def _plain(text: str) -> str:
    """Return foreign words as one line that a table can hold."""
    return " ".join(text.encode("utf-8", "replace").decode().split())[:2000]


def _trace_in_order(run: HubRun, groups: Sequence[ConfigGroup]) -> list[ModelOutcome]:
    """Trace groups shard by shard; a shard is committed after all before it, so any kill leaves a prefix."""
    outcomes: list[ModelOutcome] = []

    def commit(number: int, report: ShardReport) -> None:
        commit_shard(run.session, number, report, run.shard_config.run_id, run.recorded)
        outcomes.extend(report.outcomes)

    shards = enumerate(shards_of(groups, run.num_workers))
    submitted = (trace_groups.submit(run.session, number, shard, run.shard_config) for number, shard in shards)
    commit_in_order(submitted, commit, run.num_workers + 1)
    return outcomes


def _group_models(
    models: Sequence[tuple[ModelRef, ModelConfig]], known: Mapping[str, KnownConfig]
) -> list[ConfigGroup]:
    """Put models of equal config together; groups and their models keep the order in which they were asked for."""
    grouped: dict[str, tuple[ModelConfig, list[ModelRef]]] = {}
    for model, config in models:
        grouped.setdefault(config.config_sha256, (config, []))[1].append(model)
    return [ConfigGroup(config, tuple(members), known.get(key)) for key, (config, members) in grouped.items()]
