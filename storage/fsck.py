"""Check a corpus against itself and say what is wrong, without changing it.

Quick: the newest manifest against the files' sizes and footers, keys distinct, no row pointing at a missing one.
Deep: also each file's SHA-256, and every graph rebuilt from its text and nodes, whose rows must come out the same:
three hashes, op sequence and its xxh3, literals, operands, single-op keys, rendered text; of the instances a sample is
rendered, whose hashes must come out the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from extract.cut import Cutter
from extract.graph import Graph
from extract.hashing import hash_graph
from extract.text import render
from storage.corpus import Corpus
from storage.filesystem import file_sha256
from storage.fingerprints import op_sequence_xxh3
from storage.instances import render_row
from storage.manifest import Manifest, Shard
from storage.query import run_query
from storage.records import graph_columns, graph_from_rows, node_table
from storage.schemas import APPEND_ONLY, KEYS, SCHEMAS
from storage.shards import shard_problem

_GRAPHS_AT_ONCE: Final = 64
_MAX_KEYS_NAMED: Final = 5
_INSTANCES_RENDERED: Final = 1_000  # a corpus holds millions; a recipe that is wrong is seldom wrong alone
_SINCE_VERSION_3: Final = frozenset({"operand_ops", "operand_shapes", "operand_bytes", "output_bytes", "depth"})


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is wrong: the shard, table or graph it concerns, and what."""

    subject: str
    problem: str


def fsck(corpus: Corpus, *, deep: bool = False) -> list[Finding]:
    """Return what is wrong with a corpus, nothing when it is sound; stops early when files are not whole.

    Deep checks cost about as much as hashing every graph again; rows are read 64 graphs at a time.
    """
    manifest = corpus.manifest()
    damaged = [finding for shard in _shards(manifest) for finding in _check_shard(corpus, shard, deep)]
    if damaged:
        return damaged
    findings = [*_check_keys(corpus, manifest), *_check_references(corpus)]
    if deep:
        findings += _check_graphs(corpus)
    return findings


def _shards(manifest: Manifest) -> Iterator[Shard]:
    for shards in manifest.tables.values():
        yield from shards


def _check_shard(corpus: Corpus, shard: Shard, deep: bool) -> Iterator[Finding]:
    if problem := shard_problem(corpus.root, shard):
        yield Finding(shard.path, problem)
        return
    path = corpus.root / shard.path
    try:
        rows = pq.read_metadata(path).num_rows
    except (OSError, pa.ArrowException) as error:
        yield Finding(shard.path, f"shard {path} is not Parquet ({' '.join(str(error).split())})")
        return
    if rows != shard.rows:
        yield Finding(shard.path, f"shard {path} holds {rows} rows, the manifest says {shard.rows}")
    if deep and file_sha256(path) != shard.sha256:
        yield Finding(shard.path, f"shard {path} was altered: its SHA-256 is not the manifest's")


def _check_keys(corpus: Corpus, manifest: Manifest) -> Iterator[Finding]:
    for table in SCHEMAS:
        if table in APPEND_ONLY or not manifest.rows(table):
            continue
        keys = ", ".join(f'"{key}"' for key in KEYS[table])
        with corpus.connect([table]) as connection:
            query = f"SELECT {keys}, count(*) FROM {table} GROUP BY {keys} HAVING count(*) > 1 ORDER BY {keys}"
            doubled = connection.execute(f"{query} LIMIT {_MAX_KEYS_NAMED}").fetchall()
        for *key, count in doubled:
            yield Finding(table, f"{count} rows have the key {', '.join(map(str, key))}")


def _check_references(corpus: Corpus) -> Iterator[Finding]:
    for row in run_query(corpus, "fsck_references"):
        yield Finding(row["table_name"], f"{row['id']}: {row['problem']}")


def _check_graphs(corpus: Corpus) -> Iterator[Finding]:
    signatures = sorted(corpus.read("graphs", ["signature_sha256"]).column(0).to_pylist())
    instances: dict[str, list[dict[str, Any]]] = {}
    for row in run_query(corpus, "fsck_instances", {"limit": _INSTANCES_RENDERED}):
        instances.setdefault(row["base_signature_sha256"], []).append(row)
    for start in range(0, len(signatures), _GRAPHS_AT_ONCE):
        chosen = signatures[start : start + _GRAPHS_AT_ONCE]
        among = pc.field("signature_sha256").isin(chosen)
        graphs = _by_signature(corpus.read("graphs", filters=among))
        texts = _by_signature(corpus.read("graph_texts", filters=among))
        nodes = corpus.read("nodes", filters=among)
        for signature in chosen:
            own = nodes.filter(pc.field("signature_sha256") == signature).sort_by("index")
            if signature in texts:  # otherwise reported among the references
                recipes = instances.get(signature, [])
                yield from _check_graph(graphs[signature], texts[signature]["model_py"], own, recipes)


def _by_signature(rows: pa.Table) -> dict[str, dict[str, Any]]:
    return {row["signature_sha256"]: row for row in rows.to_pylist()}


def _check_graph(
    row: dict[str, Any], model_py: str, nodes: pa.Table, instances: Iterable[dict[str, Any]]
) -> Iterator[Finding]:
    signature = row["signature_sha256"]
    try:
        graph = graph_from_rows(row, model_py, nodes.to_pylist())
        expected = _expected_row(graph)
        rebuilt = node_table(row["signature_sha256"], graph)
        text = render(graph)
    except (ValueError, LookupError, TypeError) as error:
        yield Finding(signature, f"cannot be rebuilt from its text and nodes: {' '.join(str(error).split())}")
        return
    yield from _compare(signature, "graphs", (name for name, value in expected.items() if row[name] != value))
    columns = (name for name in SCHEMAS["nodes"].names if not _equals(name, rebuilt.column(name), nodes.column(name)))
    yield from _compare(signature, "nodes", columns)
    if text != model_py:
        yield Finding(signature, "graph_texts.model_py is not the text that its graph renders to")
    yield from _check_instances(graph, instances)


def _check_instances(graph: Graph, rows: Iterable[dict[str, Any]]) -> Iterator[Finding]:
    """Render the instances that are made of a graph: `render` itself compares their hashes."""
    cutter = Cutter(graph)
    for row in rows:
        try:
            hashes = hash_graph(render_row(cutter, row))
        except (ValueError, LookupError, TypeError) as error:
            yield Finding("instances", f"{row['instance_sha256']} cannot be rendered: {' '.join(str(error).split())}")
            continue
        if hashes.structure_sha256 != row["structure_sha256"]:
            yield Finding("instances", f"{row['instance_sha256']}: structure_sha256 is not what its recipe gives")


def _equals(name: str, rebuilt: pa.ChunkedArray, stored: pa.ChunkedArray) -> bool:
    """Compare two columns of `nodes`; what an older shard lacks reads as null."""
    return rebuilt.equals(stored) or (name in _SINCE_VERSION_3 and stored.null_count == len(stored))


def _expected_row(graph: Graph) -> dict[str, Any]:
    hashes = hash_graph(graph)
    return graph_columns(graph) | {
        "signature_sha256": hashes.signature_sha256,
        "graph_sha256": hashes.graph_sha256,
        "structure_sha256": hashes.structure_sha256,
        "op_sequence_xxh3": op_sequence_xxh3(graph.op_names),
    }


def _compare(signature: str, table: str, differing: Iterable[str]) -> Iterator[Finding]:
    for name in differing:
        yield Finding(signature, f"{table}.{name} is not what its text and nodes give")
