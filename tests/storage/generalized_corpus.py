"""A small corpus with instances: one real model, traced, mined and generalized by the steps that the flows run."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from pathlib import Path
from typing import Any

import pyarrow as pa

from extract.model_tracing import trace_model
from storage.corpus import Corpus
from storage.records import tables_from_bytes
from tasks.generalize import find_candidates
from tasks.generalize_worker import answer
from tasks.mine import find_candidates as find_unmined
from tests.storage.sample_traces import batch
from tests.tasks.test_mine import learned, mine

MODEL = "timm/test_vit"
MAX_BYTES = 800_000


@lru_cache(maxsize=1)
def _trace_tables() -> dict[str, pa.Table]:
    return batch([trace_model(MODEL)])


@lru_cache(maxsize=1)
def _generalized(signature_sha256: str, ranges: tuple[tuple[int, int, None], ...]) -> dict[str, pa.Table]:
    header = {
        "do": "generalize",
        "model_id": MODEL,
        "signature_sha256": signature_sha256,
        "ranges": [list(place) for place in ranges],
        "max_bytes": MAX_BYTES,
        "max_params": None,
        "max_seconds": 120.0,
    }
    reply, payload = answer(header, b"")
    assert "failure" not in reply, reply
    return tables_from_bytes(payload)


def make_generalized(path: Path) -> Corpus:
    """Return a corpus of one model, its classical subgraphs, and their instances, of which those that move more than
    `MAX_BYTES` are missing."""
    with ThreadPoolExecutor(1) as workers, Corpus.create(path) as corpus:
        corpus.commit(corpus.stage(_trace_tables(), "trace"), "trace")
        mine(corpus, workers, [find_unmined(corpus)], learned(corpus))
        (candidate,) = find_candidates(corpus, kinds=("classical",))
        ranges = tuple((place.start, place.end, None) for place in candidate.places)
        tables = _generalized(candidate.signature_sha256, ranges)
        corpus.commit(corpus.stage(tables, "generalize"), "generalize")
    return Corpus.open(path)


def rows_of(corpus: Corpus, query: str, *parameters: Any) -> list[tuple[Any, ...]]:
    """Return the rows of a query over a corpus."""
    with corpus.connect() as connection:
        return connection.execute(query, parameters).fetchall()
