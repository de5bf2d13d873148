"""A model that a user captured to rows of a corpus, made when missing."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from extract.hashing import hash_graph
from extract.model_ref import Trace
from storage.corpus import Corpus
from storage.model_ids import free_id, known_signatures
from storage.records import trace_tables

if TYPE_CHECKING:
    from extract.custom_ops import CustomOp


def add_user_model(path: Path, trace: Trace, custom_ops: Sequence[CustomOp]) -> str:
    """Commit one captured graph and return the id that its model has there.

    The id is `user/<name>`, or `user/<name>@<hash>` where another program has that name and part already. Raises
    UsageError where `path` is no corpus and cannot become one, WriteError.
    """
    now = datetime.now(UTC)
    run_id = f"capture-{now:%Y%m%dT%H%M%S}-{secrets.token_hex(3)}"
    hashes = hash_graph(trace.graph)
    with Corpus.create(path) as corpus:
        model_id = free_id(known_signatures(corpus), trace.model.model_id, {trace.part: hashes.signature_sha256})
        named = replace(trace, model=replace(trace.model, model_id=model_id))
        tables = trace_tables(named, now, custom_ops, hashes)
        corpus.commit(corpus.stage(tables, run_id), run_id, {"step": "capture"})
        corpus.write_catalogue()
    return model_id
