"""Models of the Hub as tasks: list repositories, read their configs, and find out which config each is.

The network is asked here, in the parent; what a config means is asked of a child, in batches: a config that its class
cannot take, or that no child survives, is the failure of that model alone.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from typing import Any

from prefect import task
from prefect.cache_policies import NO_CACHE

from extract.failure import Reason
from extract.hub_config import HubConfig, ModelConfig
from extract.model_ref import Domain
from extract.sandbox import ChildFailed, Sandbox
from storage.hub import Hub, Repo
from storage.hub_models import ConfigReader, HubModel
from tasks.sandbox_pool import SandboxPool
from tasks.trace import read_failure

_BATCH = 50


@dataclass(frozen=True, slots=True)
class Identified:
    """Which config a repository's is: a config with what the library knows of it, or why it has none."""

    config: ModelConfig | None
    family: str | None = None
    domain: Domain | None = None
    repairs: str | None = None
    failure: tuple[Reason, str] | None = None


@task(name="list-repos", cache_policy=NO_CACHE, persist_result=False)
def list_repos(hub: Hub, query: str, sort: str | None, limit: int | None) -> list[Repo]:
    """Return the repositories that a query finds, in the Hub's order; raises CorpusError.

    Each page is tried again by the transport itself, which knows what the Hub asks to wait.
    """
    return list(hub.list_repos(query, sort, limit))


@task(name="read-configs", task_run_name="read-configs-{number}", cache_policy=NO_CACHE, persist_result=False)
def read_configs(
    reader: ConfigReader, pool: SandboxPool, number: int, asked: Sequence[tuple[str, Repo | None]], num_threads: int
) -> list[HubModel]:
    """Read the configs of repositories, several at a time; the answers are in the order of the question.

    Raises CorpusError where no call can succeed, Stopped when the run is ending.
    """

    def read(one: tuple[str, Repo | None]) -> HubModel:
        pool.check()
        return reader.read(*one)

    executor = ThreadPoolExecutor(num_threads, thread_name_prefix="hub")
    try:
        return list(executor.map(read, asked))
    finally:
        executor.shutdown(wait=False, cancel_futures=True)  # calls in progress end when their Hub is closed


@task(name="identify-configs", task_run_name="identify-configs-{number}", cache_policy=NO_CACHE, persist_result=False)
def identify_configs(pool: SandboxPool, number: int, configs: Sequence[HubConfig]) -> list[Identified]:
    """Return what each config is, in order; raises Stopped, StartFailed."""
    found: list[Identified] = []
    with pool.lease() as sandbox:
        for start in range(0, len(configs), _BATCH):
            found += _identify_batch(pool, sandbox, configs[start : start + _BATCH])
    return found


def _identify_batch(pool: SandboxPool, sandbox: Sandbox, configs: Sequence[HubConfig]) -> list[Identified]:
    """Ask for several configs at once; one by one where the child does not answer for all of them."""
    try:
        return _ask(pool, sandbox, configs)
    except ChildFailed as error:
        if len(configs) == 1:
            return [Identified(None, failure=(error.reason, error.detail))]
    return [answer for config in configs for answer in _identify_batch(pool, sandbox, [config])]


def _ask(pool: SandboxPool, sandbox: Sandbox, configs: Sequence[HubConfig]) -> list[Identified]:
    payload = json.dumps([asdict(config) for config in configs]).encode()
    reply, _ = pool.ask(sandbox, {"do": "identify"}, payload)
    if reply.get("failure"):
        raise ChildFailed(*read_failure(reply["failure"]))
    try:
        answers = [_read_identity(fields) for fields in reply["identities"]]
        if len(answers) != len(configs):
            raise ValueError(f"{len(answers)} answers to {len(configs)} configs")
    except (ValueError, TypeError, KeyError) as error:
        raise ChildFailed(Reason.BAD_REPLY, f"not the identities of configs: {error}") from error
    return answers


def _read_identity(fields: dict[str, Any]) -> Identified:
    if "failure" in fields:
        return Identified(None, failure=read_failure(fields["failure"]))
    return Identified(**{**fields, "config": ModelConfig.read(fields["config"])})
