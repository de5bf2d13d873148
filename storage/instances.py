"""Rows of instances back to programs: the cut of the model's own graph, changed as the recipe says (no torch needed).

What the calls of a changed cut return is not stored, and stays unknown here; `extract.recorded_outputs` finds it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from extract.cut import Cutter
from extract.graph import Graph
from extract.shape_configs import Sizes
from mining.expression import ExpressionError
from mining.instance import render
from mining.instantiation import instantiate
from storage.corpus import Corpus
from storage.errors import CorpusError
from storage.instance_records import instance_from_row, sizes_from_row, symbolic_from_row
from storage.payloads import graph_payloads
from storage.query import run_query
from storage.records import graph_from_payload

Row = Mapping[str, Any]


def instance_rows(corpus: Corpus, instance_sha256: str) -> list[dict[str, Any]]:
    """Return the rows of an instance, one for each subgraph that it is one of, with base and variant
    (`storage/sql/instance_rows.sql`)."""
    return run_query(corpus, "instance_rows", {"instances": [instance_sha256]})


def first_rows(corpus: Corpus, instances: Iterable[str]) -> dict[str, dict[str, Any]]:
    """Return instances by hash, each as the first of its `instance_rows`; those that the corpus lacks are left out."""
    wanted: dict[str, object] = {"instances": list(dict.fromkeys(instances))}
    found: dict[str, dict[str, Any]] = {}
    for row in run_query(corpus, "instance_rows", wanted):
        found.setdefault(row["instance_sha256"], row)
    return found


def render_stored(corpus: Corpus, row: Row) -> Graph:
    """Return the program of a row of `instance_rows`; raises CorpusError where the corpus does not give it."""
    ((_, program),) = render_each(corpus, [row])
    if isinstance(program, CorpusError):
        raise program
    return program


def render_each(corpus: Corpus, rows: Iterable[Row]) -> Iterator[tuple[str, Graph | CorpusError]]:
    """Yield the program of each row by its instance, or why the corpus does not give it; graph by graph that they are
    cut out of, all of which are read together."""
    by_base: dict[str, list[Row]] = {}
    for row in rows:
        by_base.setdefault(row["base_signature_sha256"] or "", []).append(row)
    for signature, payload in graph_payloads(corpus, sorted(by_base)):
        cutter: Cutter | None = None
        for row in by_base.pop(signature):
            try:
                cutter = cutter or Cutter(graph_from_payload(payload))
                yield row["instance_sha256"], render_row(cutter, row)
            except (ValueError, LookupError, TypeError) as error:
                yield row["instance_sha256"], damaged_instance(corpus, row["instance_sha256"], str(error))
    for signature, baseless in by_base.items():
        detail = f"the graph that it is made of is missing ({signature or None})"
        for row in baseless:
            yield row["instance_sha256"], damaged_instance(corpus, row["instance_sha256"], detail)


def damaged_instance(corpus: Corpus, instance_sha256: str, detail: str) -> CorpusError:
    """Return what to raise, or to note, where a corpus does not give the program of an instance."""
    return CorpusError(
        f"instance {instance_sha256} cannot be rendered: {detail}",
        f"see what is wrong: passnet fsck --deep --corpus {corpus.root}",
    )


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


def _stored_graph(corpus: Corpus, signature_sha256: str) -> Graph:
    for _, payload in graph_payloads(corpus, [signature_sha256]):
        return graph_from_payload(payload)
    raise ValueError(f"the graph that it is made of is missing ({signature_sha256})")
