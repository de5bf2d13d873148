"""Graphs and instances of a corpus to sample directories: the six files of the public layout (design.md section 3).

A graph goes out lossless. An instance, too, is a program like any other there; `subgraph_sources.json` says which ops
of its model's graph it is made of.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from extract.graph import Graph
from extract.hashing import GraphHashes
from extract.provenance import provenance_of_rows
from extract.sample import SampleExtras, sample_files
from storage.corpus import Corpus
from storage.errors import UsageError
from storage.query import run_query
from storage.records import graph_from_rows
from storage.sample_records import num_parameters

SUBGRAPH_SOURCES = "subgraph_sources.json"
# What is as true of a part of a model as of the whole.
_SHARED_FACTS = ("model_id", "source", "framework", "architecture", "family", "domain", "licence", "repairs")
_INSTANCE_FACTS = ("instance_sha256", "subgraph_sha256", "shape_config", "dtype", "sizes", "model_id")
_GRAPH_FACTS = ("domain", "tracer", "tensor_mode", "value_reads")
# Graphs read together: their texts and nodes are held in memory.
_GRAPHS_PER_READ = 50


@dataclass(frozen=True, slots=True)
class Exported:
    """A graph to export as a part of a model."""

    model_id: str
    part: int
    signature_sha256: str


def models_to_export(corpus: Corpus, limit: int | None = None) -> list[list[Exported]]:
    """Return the parts of every model that has a graph, ordered by model, of `limit` models at most."""
    found: dict[str, list[Exported]] = {}
    for row in run_query(corpus, "export_sources"):
        found.setdefault(row["model_id"], []).append(Exported(**row))
    return list(found.values())[:limit]


def folder_of(model_id: str) -> str:
    """Return the relative folder of a model's sample: its id, with what would lead elsewhere replaced."""
    parts = [part if part.strip(".") else "_" * len(part) for part in model_id.split("/")]
    return "/".join(part.replace("\\", "_").replace("\0", "_") or "_" for part in parts)


def export_files(corpus: Corpus, wanted: Sequence[Exported]) -> Iterator[tuple[Exported, dict[str, str]]]:
    """Yield the files of each graph, by name, in the order asked for."""
    models = _rows_by_key(corpus, "models", {item.model_id for item in wanted})
    sources = {
        (row["model_id"], row["part"]): row
        for row in corpus.read(
            "graph_sources", filters=pc.field("model_id").isin([item.model_id for item in wanted])
        ).to_pylist()
    }
    given = {
        (row["model_id"], row["part"]): row
        for row in corpus.read("samples", filters=pc.field("model_id").isin(list(models))).to_pylist()
    }
    for start in range(0, len(wanted), _GRAPHS_PER_READ):
        chunk = wanted[start : start + _GRAPHS_PER_READ]
        for item, graph_row, text, nodes in _read_graphs(corpus, chunk):
            key = (item.model_id, item.part)
            extras = _extras(models[item.model_id], sources[key], graph_row, given.get(key))
            hashes = GraphHashes(
                graph_row["graph_sha256"], graph_row["signature_sha256"], graph_row["structure_sha256"]
            )
            model = item.model_id
            files = sample_files(
                graph_from_rows(graph_row, text, nodes),
                model_name=model.removeprefix("import/"),
                source=model.partition("/")[0],
                hashes=hashes,
                extras=extras,
            )
            found = given.get(key)
            if found and found["subgraph_sources"]:
                files[SUBGRAPH_SOURCES] = found["subgraph_sources"]
            yield item, files


def instance_files(corpus: Corpus, row: Mapping[str, Any], graph: Graph) -> dict[str, str]:
    """Return the files of an instance, by name: of its row (`storage.instances.instance_rows`) and rendered program.

    Its model is named after the instance's model and hash. Raises UsageError where its model has no row.
    """
    return InstanceSources(corpus, [row]).files(row, graph)


class InstanceSources:
    """What the samples of some instances say of the models and graphs that they are parts of, read once for all."""

    def __init__(self, corpus: Corpus, rows: Iterable[Mapping[str, Any]]) -> None:
        """Read it for rows of `storage.instances.instance_rows`."""
        places = {(row["base_signature_sha256"], row["model_id"]) for row in rows}
        among = pc.field("signature_sha256").isin(pa.array([signature for signature, _ in places], pa.string()))
        sources = corpus.read("graph_sources", filters=among).to_pylist()
        graphs = corpus.read("graphs", ["signature_sha256", *_GRAPH_FACTS], among).to_pylist()
        self._root = corpus.root
        self._models = _rows_by_key(corpus, "models", {model_id for _, model_id in places})
        self._sources = {(row["signature_sha256"], row["model_id"]): row for row in reversed(sources)}
        self._graphs = {row["signature_sha256"]: row for row in graphs}

    def files(self, row: Mapping[str, Any], graph: Graph) -> dict[str, str]:
        """Return the files of one of these instances, as `instance_files` does."""
        signature, model_id = row["base_signature_sha256"], row["model_id"]
        source, model = self._sources.get((signature, model_id)), self._models.get(model_id)
        if source is None or model is None:
            raise UsageError(
                f"{model_id} is no source of graph {signature}", f"see `passnet fsck --corpus {self._root}`"
            )
        name = folder_of(model_id)
        files = sample_files(
            graph,
            model_name=f"{name}/instance_{row['instance_sha256'][:16]}",
            source=model_id.partition("/")[0],
            extras=SampleExtras(_instance_provenance(row, graph, model, source, self._graphs[signature])),
        )
        ranges = {name: [[row["base_start"], row["base_end"]]]}
        return {**files, SUBGRAPH_SOURCES: json.dumps(ranges, separators=(",", ":")) + "\n"}


def _instance_provenance(
    row: Mapping[str, Any], graph: Graph, model: Mapping[str, Any], source: Mapping[str, Any], base: Mapping[str, Any]
) -> dict[str, Any]:
    own = {name: model[name] for name in _SHARED_FACTS} | {"num_parameters": num_parameters(graph)}
    reads = [
        {**read, "op_index": max(read["op_index"] - row["base_start"], 0)}
        for read in base["value_reads"]
        if read["op_index"] < row["base_end"]
    ]
    provenance = provenance_of_rows(own, {**source, "part": 0}, {**base, "value_reads": reads})
    stated = {name: row[name] for name in _INSTANCE_FACTS}
    return {**provenance, "instance": {**stated, "graph": row["base_signature_sha256"]}}


def _read_graphs(
    corpus: Corpus, chunk: Iterable[Exported]
) -> Iterator[tuple[Exported, dict[str, Any], str, list[dict[str, Any]]]]:
    items = list(chunk)
    among = pc.field("signature_sha256").isin([item.signature_sha256 for item in items])
    graphs = {row["signature_sha256"]: row for row in corpus.read("graphs", filters=among).to_pylist()}
    texts = {row["signature_sha256"]: row["model_py"] for row in corpus.read("graph_texts", filters=among).to_pylist()}
    nodes: dict[str, list[dict[str, Any]]] = {}
    columns = ["signature_sha256", "index", "op", "target", "outputs"]
    for row in corpus.read("nodes", columns, among).sort_by("index").to_pylist():
        nodes.setdefault(row["signature_sha256"], []).append(row)
    for item in items:
        signature = item.signature_sha256
        yield item, graphs[signature], texts[signature], nodes.get(signature, [])


def _rows_by_key(corpus: Corpus, table: str, model_ids: set[str]) -> dict[str, dict[str, Any]]:
    names = pa.array(model_ids, pa.string())
    rows = corpus.read(table, filters=pc.field("model_id").isin(names)).to_pylist()
    return {row["model_id"]: row for row in rows}


def _extras(
    model: Mapping[str, Any], source: Mapping[str, Any], graph: Mapping[str, Any], given: Mapping[str, Any] | None
) -> SampleExtras:
    provenance = provenance_of_rows(model, source, graph)
    if given is None:
        return SampleExtras(provenance)
    facts = json.loads(given["graph_net"] or "{}")
    return SampleExtras(provenance, facts, given["graph_hash"], given["input_constraints"] or "")
