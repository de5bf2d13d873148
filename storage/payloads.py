"""Stored graphs to payloads: each one's rows as a child takes them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow.compute as pc

from storage.corpus import Corpus
from storage.records import tables_to_bytes


def graph_payloads(corpus: Corpus, signatures: Sequence[str]) -> Iterator[tuple[str, bytes]]:
    """Yield each graph's signature and the bytes of its rows in `graphs`, `graph_texts` and `nodes`, read together.

    A graph that the corpus lacks is left out.
    """
    if not signatures:
        return
    among = pc.field("signature_sha256").isin(list(signatures))
    tables = {name: corpus.read(name, filters=among) for name in ("graphs", "graph_texts", "nodes")}
    for signature in signatures:
        own = {name: table.filter(pc.field("signature_sha256") == signature) for name, table in tables.items()}
        if own["graphs"].num_rows and own["graph_texts"].num_rows:
            own["nodes"] = own["nodes"].sort_by("index")
            yield signature, tables_to_bytes(own)
