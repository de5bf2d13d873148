"""Where a single op is generalized: of all its places in the corpus, the one that varies most likely.

A key fixes op, literals, ranks and dtypes, not what its operands come from: `mul` of two floats stands in tables of
positions, which are the same at every batch and in every dtype, and in blocks, where it differs by both.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import groupby
from operator import itemgetter
from typing import Any

from mining.dependence import Dependence, Reads
from storage import catalogue
from storage.corpus import Corpus
from storage.queries import mentioned_tables, query_text

_ROWS_PER_FETCH = 50_000


def single_op_places(
    corpus: Corpus, graphs: Sequence[Mapping[str, Any]], few_ops: int, passed_over: Collection[str] = ()
) -> list[dict[str, Any]]:
    """Return a place for each single op without a generalization: subgraph_sha256, signature_sha256, start, end,
    and num_graphs, how many hold it.

    `graphs` are rows of `generalize_graphs.sql`; `passed_over` has keys with the graphs not to take for them, a space
    between. Graphs with a model come first. Then a place that depends on a data input, one that depends on the model's
    dtype, one among the first `few_ops` of its graph or else the first of all, the lowest signature, the first op.
    """
    recorded = {graph["signature_sha256"]: graph["is_recorded"] for graph in graphs}
    best: dict[str, tuple[bool, bool, bool, int, str, int]] = {}
    num_graphs: Counter[str] = Counter()
    for signature, rows in groupby(_ops(corpus, sorted(recorded)), key=itemgetter(0)):
        dependence, held = Dependence(), set[str]()
        for _, index, key, *reads in rows:
            on_input, on_dtype = dependence.add(Reads(*reads))
            if key is not None and f"{key} {signature}" not in passed_over:
                held.add(key)
                cost = max(index + 1, few_ops)
                place = (recorded[signature], not on_input, not on_dtype, cost, signature, index)
                if key not in best or place < best[key]:
                    best[key] = place
        num_graphs.update(held)
    return [
        {
            "subgraph_sha256": key,
            "signature_sha256": signature,
            "start": index,
            "end": index + 1,
            "num_graphs": num_graphs[key],
        }
        for key, (*_, signature, index) in sorted(best.items())
    ]


def _ops(corpus: Corpus, signatures: Sequence[str]) -> Iterator[tuple[Any, ...]]:
    sql = query_text("generalize_single_ops")
    with corpus.connect(mentioned_tables(sql)) as connection, catalogue.reading(corpus.root):
        cursor = connection.execute(sql, {"signatures": signatures})
        while rows := cursor.fetchmany(_ROWS_PER_FETCH):
            yield from rows
