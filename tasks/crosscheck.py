"""Models to rows of `crosschecks`: each is compared in a sandbox, so a crash or a hang costs one row."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Protocol

import pyarrow as pa

from extract.failure import Reason
from extract.sandbox import GIB, ChildFailed, Limits, Sandbox, StartFailed
from extract.sandbox_frames import Header
from storage.errors import CorpusError
from storage.records import rows_to_table
from storage.schemas import SCHEMAS
from tasks.sandbox_pool import SandboxPool

NOT_COMPARED = "not_compared"

# A run that is killed loses the comparisons of this many models at most.
_KEEP_EVERY = 10
# A child holds a model's weights, a second graph's activations and what Dynamo keeps; there is one child.
_RESIDENT_BYTES = 6 * GIB


class Listener(Protocol):
    """Is told how far the run is."""

    def begin(self, total: int, doing: str, done: str) -> None:
        """Start counting towards `total` models."""
        ...

    def advance(self, model_id: str, failed: bool) -> None:
        """Count one model."""
        ...


def _new_run_id() -> str:
    return f"crosscheck-{datetime.now(UTC):%Y%m%dT%H%M%S}-{secrets.token_hex(3)}"


@dataclass(frozen=True, slots=True)
class CrosscheckRun:
    """How models are compared: the largest, the wall time of each, what children import, and the run's id."""

    max_params: int
    model_seconds: float
    import_modules: tuple[str, ...] = ()
    run_id: str = field(default_factory=_new_run_id)


@dataclass(frozen=True, slots=True)
class WantedModels:
    """Which models to compare: `names` in order, else all that the sources name with these heads; `limit` at most."""

    sources: tuple[str, ...]
    heads: tuple[str, ...]
    names: tuple[str, ...] | None = None
    limit: int | None = None


def compare_models(
    wanted: WantedModels, run: CrosscheckRun, listener: Listener, keep: Callable[[pa.Table], None]
) -> None:
    """Compare models one after the other; `keep` gets their rows in order, a few at a time, the last ones also where
    the run is stopped. Raises CorpusError where none can run."""
    pool = SandboxPool(1, run.import_modules, Limits(seconds=run.model_seconds, resident_bytes=_RESIDENT_BYTES))
    try:
        with pool.lease() as sandbox:
            ids = list(_discover(pool, sandbox, wanted) if wanted.names is None else wanted.names)[: wanted.limit]
            listener.begin(len(ids), "comparing", "compared")
            rows = (_compare_one(pool, sandbox, model_id, run, listener.advance) for model_id in ids)
            _keep_in_batches(rows, keep)
    except StartFailed as error:
        raise CorpusError(f"models cannot be traced here ({error})", "check --import and the installation") from error
    finally:
        pool.close()


def _keep_in_batches(rows: Iterable[dict[str, Any]], keep: Callable[[pa.Table], None]) -> None:
    batch: list[dict[str, Any]] = []
    try:
        for row in rows:
            batch.append(row)
            if len(batch) == _KEEP_EVERY:
                full, batch = batch, []
                keep(rows_to_table("crosschecks", full))
    finally:
        if batch:
            keep(rows_to_table("crosschecks", batch))


def _discover(pool: SandboxPool, sandbox: Sandbox, wanted: WantedModels) -> list[str]:
    named: list[str] = []
    for source in wanted.sources:
        reply: Header
        try:
            reply, _ = pool.ask(sandbox, {"do": "discover", "source": source, "heads": list(wanted.heads)})
        except ChildFailed as error:
            reply = {"failure": {"detail": f"{error.reason}: {error.detail}"}}
        if failure := reply.get("failure"):
            raise CorpusError(f"source {source} names no models ({failure['detail']})", "check the installation")
        named += [model["model_id"] for model in reply["models"]]
    return named


def _compare_one(
    pool: SandboxPool, sandbox: Sandbox, model_id: str, run: CrosscheckRun, advance: Callable[[str, bool], None]
) -> dict[str, Any]:
    import torch

    request = {"do": "crosscheck", "model_id": model_id, "max_params": run.max_params}
    try:
        reply, _ = pool.ask(sandbox, request)
        found = _read_reply(model_id, reply)
    except ChildFailed as error:
        found = {"cause": NOT_COMPARED, "detail": f"{error.reason}: {error.detail}"}
    advance(model_id, found["cause"] == NOT_COMPARED)
    fixed = {"model_id": model_id, "run_id": run.run_id, "torch_version": torch.__version__, "at": datetime.now(UTC)}
    return {**found, **fixed}


def _read_reply(model_id: str, reply: dict[str, Any]) -> dict[str, Any]:
    """Return a child's findings; raises ChildFailed where it failed, or sent something else."""
    if failure := reply.get("failure"):
        return {"cause": NOT_COMPARED, "detail": f"{failure.get('reason')}: {failure.get('detail')}"[:2000]}
    found: Any = reply.get("crosscheck")
    try:
        rows_to_table("crosschecks", [found])
        if found is None or found["model_id"] != model_id or not set(found) <= set(SCHEMAS["crosschecks"].names):
            raise ValueError("another model's, or more than a row's fields")
    except (ValueError, TypeError, KeyError, AttributeError, pa.ArrowException) as error:
        detail = f"not a comparison: {type(error).__name__}: {error}"
        raise ChildFailed(Reason.BAD_REPLY, detail) from error
    return found
