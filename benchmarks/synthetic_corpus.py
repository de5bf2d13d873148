"""A corpus of any size from real ones: variants of their graphs, written by the storage layer as a refresh would.

Every graph is a variant (`benchmarks.synthetic_graphs`) of one of 400 real ones drawn by seed, with the hashes, text
and columns that a traced one would have, so that `passnet fsck --deep` finds nothing. How often each real graph is
taken follows exp(-tilt * num_ops), the tilt chosen so that the mean number of ops is the one asked for. Each graph has
one model or more (a geometric number, mean 3: fine-tunes of one architecture); failures and verdicts are the real ones
under the new names. One commit per 250,000 nodes, each a run of a day of its own; then `compact`.
"""

from __future__ import annotations

import itertools
import logging
import math
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from benchmarks.synthetic_graphs import variants
from benchmarks.synthetic_rows import Template, VariedGraph
from extract.graph import Graph
from storage.corpus import Corpus
from storage.records import graph_from_rows, rows_to_table

SEED: Final = 12
NODES_PER_COMMIT: Final = 250_000
MODELS_PER_GRAPH: Final = 3
FAILURES_PER_RUN: Final = 50
MAX_BASES: Final = 400
FIRST_DAY: Final = datetime(2026, 1, 1, tzinfo=UTC)
_GRAPHS_AT_ONCE: Final = 64
_LOGGER = logging.getLogger(__name__)

Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Base:
    """A real graph, the model first seen with it, its verdicts and its value reads."""

    graph: Graph
    model: Row
    source: Row
    verdicts: list[Row]
    row: Row


@dataclass(slots=True)
class _Batch:
    """Rows that wait for their commit."""

    tables: dict[str, list[pa.Table]] = field(default_factory=dict)
    num_nodes: int = 0

    def add(self, tables: dict[str, pa.Table]) -> None:
        for name, rows in tables.items():
            self.tables.setdefault(name, []).append(rows)
        self.num_nodes += tables["nodes"].num_rows

    def joined(self) -> dict[str, pa.Table]:
        return {name: pa.concat_tables(parts) for name, parts in self.tables.items()}


def synthesise(sources: Sequence[Path], target: Path, num_graphs: int, num_nodes: int) -> None:
    """Write a new corpus of about that many graphs and nodes at `target`; raises FileExistsError when there is one.

    Deterministic; memory for 250,000 nodes at once.
    """
    if target.exists():
        raise FileExistsError(target)
    partial = target.with_name(target.name + ".partial")
    rng = random.Random(SEED)
    failures = [row for path in sources for row in Corpus.open(path).read("failures").to_pylist()]
    with Corpus.create(partial) as corpus:
        batch, run = _Batch(), 0
        for tables in _new_graphs(sources, num_graphs, num_nodes, rng):
            batch.add(tables)
            if batch.num_nodes >= NODES_PER_COMMIT:
                _commit(corpus, batch, run, failures)
                batch, run = _Batch(), run + 1
        if batch.num_nodes:
            _commit(corpus, batch, run, failures)
        corpus.compact("synthetic-compact", expire=True)
        corpus.write_catalogue()
    partial.rename(target)


def choose_counts(num_ops: Sequence[int], num_graphs: int, num_nodes: int) -> list[int]:
    """Return how many variants of each graph to make: as many as asked for, whose ops add up to about `num_nodes`.

    The counts follow exp(-tilt * num_ops); the tilt is found by bisection. The last graphs make up for rounding.
    """
    wanted, scale = num_nodes / num_graphs, max(num_ops)
    low, high = -50.0, 50.0
    for _ in range(80):
        tilt = (low + high) / 2
        weights = _tilted(num_ops, tilt, scale)
        mean = sum(weight * ops for weight, ops in zip(weights, num_ops, strict=True)) / sum(weights)
        low, high = (tilt, high) if mean > wanted else (low, tilt)
    weights = _tilted(num_ops, (low + high) / 2, scale)
    total, made, passed = sum(weights), 0, 0.0
    counts: list[int] = []
    for weight in weights:
        passed += weight
        counts.append(round(passed / total * num_graphs) - made)
        made += counts[-1]
    return counts


def _tilted(num_ops: Sequence[int], tilt: float, scale: int) -> list[float]:
    least = min(tilt * ops / scale for ops in num_ops)
    return [math.exp(least - tilt * ops / scale) for ops in num_ops]


def _new_graphs(
    sources: Sequence[Path], num_graphs: int, num_nodes: int, rng: random.Random
) -> Iterator[dict[str, pa.Table]]:
    """Yield the rows of each new graph; what a graph has too few variants for, the next ones make up for."""
    listed = [
        (path, row["signature_sha256"], row["num_ops"])
        for path in sources
        for row in Corpus.open(path).read("graphs", ["signature_sha256", "num_ops"]).to_pylist()
    ]
    chosen = rng.sample(sorted(listed), min(len(listed), MAX_BASES))
    counts = choose_counts([num_ops for _, _, num_ops in chosen], num_graphs, num_nodes)
    wanted = [(path, signature, count) for (path, signature, _), count in zip(chosen, counts, strict=True) if count]
    owed, seen = 0, set[str]()
    for start in range(0, len(wanted), _GRAPHS_AT_ONCE):
        part = wanted[start : start + _GRAPHS_AT_ONCE]
        bases = {
            base.row["signature_sha256"]: base
            for path in sources
            for base in _read_bases(Corpus.open(path), [signature for owner, signature, _ in part if owner == path])
        }
        for _, signature, count in part:
            owed += count
            for tables in itertools.islice(_variants_of(bases.pop(signature), seen, rng), owed):
                owed -= 1
                yield tables


def _variants_of(base: Base, seen: set[str], rng: random.Random) -> Iterator[dict[str, pa.Table]]:
    template = Template(base.graph, base.row)
    for variant in variants(rng):
        for varied in template.vary(variant, seen):
            name = f"{base.model['model_id']}@w{variant.width}+{variant.length_step}-{variant.eps_factor}"
            yield _rows_of(base, varied, f"{name}-{varied.dtype}", rng)


def _rows_of(base: Base, varied: VariedGraph, model_id: str, rng: random.Random) -> dict[str, pa.Table]:
    identity = {"signature_sha256": varied.signature_sha256}
    model = base.model | {"model_id": model_id, "num_parameters": varied.num_parameters}
    return {
        "graphs": varied.graphs,
        "graph_texts": varied.graph_texts,
        "nodes": varied.nodes,
        "constraints": rows_to_table("constraints", [verdict | identity for verdict in base.verdicts]),
        **_fine_tunes(model, base.source | identity, rng),
    }


def _fine_tunes(model: Row, source: Row, rng: random.Random) -> dict[str, pa.Table]:
    """Return the rows of a graph's model and of those that are fine-tuned from it."""
    further = min(math.floor(math.log(1 - rng.random()) / math.log(1 - 1 / MODELS_PER_GRAPH)), 200)
    names = [model["model_id"], *(f"{model['model_id']}/tuned{number}" for number in range(further))]
    origins = [None, *[model["model_id"]] * further]
    models = [model | {"model_id": name, "traced_from": origin} for name, origin in zip(names, origins, strict=True)]
    sources = [source | {"model_id": name, "part": 0, "run_id": None} for name in names]
    return {"models": rows_to_table("models", models), "graph_sources": rows_to_table("graph_sources", sources)}


def _commit(corpus: Corpus, batch: _Batch, run: int, failures: list[Row]) -> None:
    tables = batch.joined()
    day = FIRST_DAY + timedelta(days=run)
    run_id = f"synthetic-{run:03d}"
    sources = tables["graph_sources"]
    times = pa.array([day + timedelta(seconds=number) for number in range(sources.num_rows)], pa.timestamp("us", "UTC"))
    position = sources.column_names.index("traced_at")
    tables["graph_sources"] = sources.set_column(position, sources.schema.field(position), times)
    rows = [
        failure | {"subject": f"{failure['subject']}@{run}", "run_id": run_id, "at": day}
        for failure in failures[:FAILURES_PER_RUN]
    ]
    tables["failures"] = rows_to_table("failures", rows)
    tables["models"] = pa.concat_tables([tables["models"], _failed_models(rows)])
    corpus.commit(corpus.stage(tables, run_id), run_id, {"synthetic": True})
    _LOGGER.info("run %d: %d nodes", run, batch.num_nodes)


def _failed_models(failures: list[Row]) -> pa.Table:
    rows = [
        {"model_id": row["subject"], "source": row["subject"].partition("/")[0], "framework": "torch"}
        for row in failures
    ]
    return rows_to_table("models", rows)


def _read_bases(corpus: Corpus, signatures: list[str]) -> Iterator[Base]:
    among = pc.field("signature_sha256").isin(signatures)
    texts = _first_of(corpus.read("graph_texts", filters=among))
    nodes = corpus.read("nodes", filters=among)
    verdicts = corpus.read("constraints", filters=among).to_pylist()
    sources = _first_of(corpus.read("graph_sources", filters=among).sort_by("model_id"))
    named = pc.field("model_id").isin([source["model_id"] for source in sources.values()])
    models = {row["model_id"]: row for row in corpus.read("models", filters=named).to_pylist()}
    for signature, row in _first_of(corpus.read("graphs", filters=among)).items():
        own = nodes.filter(pc.field("signature_sha256") == signature).sort_by("index").to_pylist()
        graph = graph_from_rows(row, texts[signature]["model_py"], own)
        source = sources[signature]
        judged = [verdict for verdict in verdicts if verdict["signature_sha256"] == signature]
        yield Base(graph, models[source["model_id"]], source, judged, row)


def _first_of(rows: pa.Table) -> dict[str, Row]:
    found: dict[str, Row] = {}
    for row in rows.to_pylist():
        found.setdefault(row["signature_sha256"], row)
    return found
