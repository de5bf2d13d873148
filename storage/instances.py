"""Rows of instances back to programs: the cut of the model's own graph, changed as the recipe says (no torch needed).

What the calls of a changed cut return is not stored, and stays unknown here; `extract.recorded_outputs` finds it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow.compute as pc

from extract.cut import Cutter
from extract.graph import Graph
from extract.shape_configs import Sizes
from mining.expression import ExpressionError
from mining.instance import render
from mining.instantiation import instantiate
from storage.corpus import Corpus
from storage.errors import CorpusError
from storage.instance_records import instance_from_row, sizes_from_row, symbolic_from_row
from storage.query import run_query
from storage.records import graph_from_rows

Row = Mapping[str, Any]


def instance_rows(corpus: Corpus, instance_sha256: str) -> list[dict[str, Any]]:
    """Return the rows of an instance, one for each subgraph that it is one of, with base and variant
    (`storage/sql/instance_rows.sql`)."""
    return run_query(corpus, "instance_rows", {"instance_sha256": instance_sha256})


def render_stored(corpus: Corpus, row: Row) -> Graph:
    """Return the program of a row of `instance_rows`; raises CorpusError where the corpus does not give it."""
    try:
        return render_row(Cutter(_stored_graph(corpus, row["base_signature_sha256"])), row)
    except (ValueError, LookupError, TypeError) as error:
        raise CorpusError(
            f"instance {row['instance_sha256']} cannot be rendered: {error}",
            f"see what is wrong: passnet fsck --deep --corpus {corpus.root}",
        ) from error


def render_at(corpus: Corpus, row: Row, sizes: Sizes) -> Graph:
    """Return the program of a row of `generalizations` that has expressions at other sizes, in float32.

    Raises `ExpressionError` where nothing is known at these sizes, CorpusError where the corpus does not give it.
    """
    expressions, constraints = symbolic_from_row(row)
    try:
        base = Cutter(_stored_graph(corpus, row["signature_sha256"])).cut(row["start"], row["end"]).graph
        return instantiate(base, expressions, constraints, sizes)
    except ExpressionError:
        raise
    except (ValueError, LookupError, TypeError) as error:
        raise CorpusError(
            f"subgraph {row['subgraph_sha256']} cannot be made: {error}",
            f"see what is wrong: passnet fsck --deep --corpus {corpus.root}",
        ) from error


def render_row(cutter: Cutter, row: Row) -> Graph:
    """Return the program of a row, cut out of the graph of `base_signature_sha256`.

    Raises ValueError where the range is no cut or the outcome has another hash, LookupError or TypeError where the
    recipe names what the cut does not have.
    """
    base = cutter.cut(row["base_start"], row["base_end"]).graph
    return render(base, instance_from_row(row, row["base_start"], sizes_from_row(row.get("sizes"))))


def _stored_graph(corpus: Corpus, signature_sha256: str | None) -> Graph:
    among = pc.field("signature_sha256") == signature_sha256
    graphs, texts, nodes = (corpus.read(name, filters=among) for name in ("graphs", "graph_texts", "nodes"))
    if not (graphs.num_rows and texts.num_rows):
        raise ValueError(f"the graph that it is made of is missing ({signature_sha256})")
    text = texts.column("model_py")[0].as_py()
    return graph_from_rows(graphs.to_pylist()[0], text, nodes.sort_by("index").to_pylist())
