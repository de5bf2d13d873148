"""A model that a user captured to rows of a corpus, made when missing."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from extract.failure import SubjectError
from extract.hashing import hash_graph
from extract.model_ref import Trace
from storage.corpus import Corpus
from storage.model_ids import free_id, known_signatures
from storage.records import Failure, failure_table, trace_tables

if TYPE_CHECKING:
    from extract.custom_ops import CustomOp


def add_user_model(path: Path, trace: Trace, custom_ops: Sequence[CustomOp]) -> str:
    """Commit one captured graph and return the id that its model has there.

    The id is `user/<name>`, or `user/<name>@<hash>` where another program has that name and part already. Raises
    UsageError where `path` is no corpus and cannot become one, WriteError.
    """
    now, run_id = _now_and_run_id()
    hashes = hash_graph(trace.graph)
    with Corpus.create(path) as corpus:
        model_id = free_id(known_signatures(corpus), trace.model.model_id, {trace.part: hashes.signature_sha256})
        named = replace(trace, model=replace(trace.model, model_id=model_id))
        tables = trace_tables(named, now, custom_ops, hashes)
        corpus.commit(corpus.stage(tables, run_id), run_id, {"step": "capture"})
        corpus.write_catalogue()
    return model_id


def add_failure(path: Path, model_id: str, failure: SubjectError) -> None:
    """Commit a row of `failures` for a model that could not be captured; raises as `add_user_model` does."""
    now, run_id = _now_and_run_id()
    row = Failure(model_id, "capture", failure.reason, failure.detail, run_id, None, now)
    with Corpus.create(path) as corpus:
        corpus.commit(corpus.stage({"failures": failure_table([row])}, run_id), run_id, {"step": "capture"})
        corpus.write_catalogue()


def _now_and_run_id() -> tuple[datetime, str]:
    now = datetime.now(UTC)
    return now, f"capture-{now:%Y%m%dT%H%M%S}-{secrets.token_hex(3)}"
