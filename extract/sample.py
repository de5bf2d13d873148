"""A graph to the six files of the public sample layout and back (design.md section 3).

`model.py` holds the program, `weight_meta.py` and `input_meta.py` one class per argument, `graph_net.json` what the
layout has no place for (kinds, strides, exact statistics, op outputs) under the key `passnet`, `graph_hash.txt`
our graph_sha256. Files are parsed with `ast` and `json`, never executed. Reading back what was written gives an equal
graph, field by field.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from extract.graph import Graph, Node, OutputMeta, TensorMeta
from extract.hashing import GraphHashes, hash_graph
from extract.sample_metadata import MetaRecord, SampleError, read_metadata
from extract.text import parse, render

FILE_NAMES = (
    "model.py",
    "weight_meta.py",
    "input_meta.py",
    "graph_net.json",
    "graph_hash.txt",
    "input_tensor_constraints.py",
)
ALL_FILE_NAMES = (*FILE_NAMES, "subgraph_sources.json")
"""Those of the layout, and the one that mined samples add."""


@dataclass(frozen=True, slots=True)
class SampleExtras:
    """What a sample's files hold beside its graph.

    `provenance` says where the graph comes from (key `passnet` of graph_net.json). The rest is what a foreign sample
    came with and gets back: its own keys of graph_net.json, its graph_hash.txt, its constraints.
    """

    provenance: Mapping[str, Any] = field(default_factory=dict[str, Any])
    facts: Mapping[str, Any] = field(default_factory=dict[str, Any])
    graph_hash: str | None = None
    constraints: str = ""


def sample_files(
    graph: Graph,
    *,
    model_name: str | None = None,
    source: str | None = None,
    hashes: GraphHashes | None = None,
    extras: SampleExtras | None = None,
) -> dict[str, str]:
    """Return file name -> text of the sample directory of `graph`; its `hashes` are computed where not given."""
    hashes = hashes or hash_graph(graph)
    extras = extras or SampleExtras()
    weights = [tensor for tensor in graph.tensors if tensor.kind != "input"]
    inputs = [tensor for tensor in graph.tensors if tensor.kind == "input"]
    facts = {
        "framework": "torch",
        "num_devices_required": 1,
        "num_nodes_required": 1,
        "dynamic": False,
        "model_name": model_name,
        "source": source,
        **extras.facts,
        "passnet": {
            "graph_sha256": hashes.graph_sha256,
            "signature_sha256": hashes.signature_sha256,
            "structure_sha256": hashes.structure_sha256,
            "tensors": [_tensor_facts(tensor) for tensor in graph.tensors],
            "outputs": [[_output_facts(output) for output in node.outputs] for node in graph.nodes],
            **({"provenance": dict(extras.provenance)} if extras.provenance else {}),
        },
    }
    files = {
        "model.py": render(graph),
        "weight_meta.py": "\n".join(_meta_class("weight", tensor) for tensor in weights),
        "input_meta.py": "\n".join(_meta_class("input", tensor) for tensor in inputs),
    }
    facts["passnet"]["files_sha256"] = own_digest(files, facts["passnet"])
    return {
        **files,
        "graph_net.json": json.dumps(facts, allow_nan=bool(extras.facts), separators=(",", ":")) + "\n",
        "graph_hash.txt": (extras.graph_hash or hashes.graph_sha256) + "\n",
        "input_tensor_constraints.py": extras.constraints,
    }


def own_digest(files: Mapping[str, str], ours: Mapping[str, Any]) -> str:
    """Return one SHA-256 over what we write of a graph: program, tensors, and the key `passnet` less this entry."""
    stated = {key: value for key, value in ours.items() if key != "files_sha256"}
    texts = [files.get(name, "") for name in ("model.py", "weight_meta.py", "input_meta.py")]
    return hashlib.sha256(json.dumps([*texts, stated], sort_keys=True).encode("utf-8", "surrogatepass")).hexdigest()


def graph_from_files(files: Mapping[str, str]) -> Graph:
    """Return the graph of a sample's files; raises `SampleError` when they are not one."""
    if missing := [name for name in ("model.py", "weight_meta.py", "graph_net.json") if name not in files]:
        raise SampleError(f"{missing[0]} is missing")
    facts = facts_of(files["graph_net.json"]).get("passnet")
    if facts is None:
        raise SampleError("graph_net.json has no key `passnet`: the sample was not written by us")
    records = read_metadata(files.get("input_meta.py", ""), "input_meta.py")
    records |= read_metadata(files["weight_meta.py"], "weight_meta.py")
    tensors = tuple(_tensor(entry, records) for entry in facts["tensors"])
    graph = parse(files["model.py"], tensors)
    if len(facts["outputs"]) != len(graph.nodes):
        raise SampleError(f"graph_net.json describes {len(facts['outputs'])} ops, model.py has {len(graph.nodes)}")
    return with_outputs(graph, [[_output(entry) for entry in entries] for entries in facts["outputs"]])


def facts_of(graph_net: str) -> dict[str, Any]:
    """Return the object in the text of graph_net.json; raises `SampleError` where it holds none."""
    try:
        facts = json.loads(graph_net)
    except (ValueError, RecursionError) as error:
        raise SampleError(f"graph_net.json is not a JSON object: {type(error).__name__}: {error}") from error
    if not isinstance(facts, dict):
        raise SampleError("graph_net.json is not a JSON object")
    return facts


def with_outputs(graph: Graph, outputs: Iterable[Iterable[OutputMeta]]) -> Graph:
    """Return `graph` with each op's output facts filled in, in op order."""
    nodes = tuple(
        Node(node.op, node.target, node.args, node.kwargs, tuple(metas))
        for node, metas in zip(graph.nodes, outputs, strict=True)
    )
    return Graph(nodes, graph.tensors, graph.outputs)


def write_sample(graph: Graph, folder: Path, *, model_name: str | None = None, source: str | None = None) -> None:
    """Write the sample directory of `graph`, making `folder` when missing."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in sample_files(graph, model_name=model_name, source=source).items():
        (folder / name).write_text(text, encoding="utf-8")


def read_sample(folder: Path) -> Graph:
    """Return the graph of a sample directory that `write_sample` wrote."""
    return graph_from_files({name: (folder / name).read_text(encoding="utf-8") for name in FILE_NAMES})


def _meta_class(role: str, tensor: TensorMeta) -> str:
    values = list(tensor.values) if tensor.values is not None else None
    rows = {
        "name": tensor.name,
        "shape": list(tensor.shape),
        "dtype": f"torch.{tensor.dtype}",
        "device": "cpu",
        "mean": tensor.mean,
        "std": tensor.std,
        "min_val": tensor.min,
        "max_val": tensor.max,
        "data": values,
        "original_name": tensor.original_name,
    }
    body = "".join(f"    {name} = {_source(value)}\n" for name, value in rows.items())
    return f"class Program_{role}_tensor_meta_{tensor.name}:\n{body}"


def _source(value: Any) -> str:
    if isinstance(value, list):
        return "[" + ", ".join(map(_source, value)) + "]"
    if isinstance(value, float) and not math.isfinite(value):
        return f"float('{value!r}')"
    return repr(value)


def _tensor_facts(tensor: TensorMeta) -> dict[str, Any]:
    return {
        "name": tensor.name,
        "kind": tensor.kind,
        "stride": list(tensor.stride),
        "stats_source": tensor.stats_source,
    }


def _tensor(entry: Mapping[str, Any], records: Mapping[str, MetaRecord]) -> TensorMeta:
    if entry["name"] not in records:
        raise SampleError(f"argument {entry['name']} has no class in weight_meta.py or input_meta.py")
    record = records[entry["name"]].fields
    values = record["data"]
    return TensorMeta(
        name=entry["name"],
        kind=entry["kind"],
        original_name=record["original_name"],
        shape=tuple(record["shape"]),
        stride=tuple(entry["stride"]),
        dtype=record["dtype"].removeprefix("torch."),
        mean=record["mean"],
        std=record["std"],
        min=record["min_val"],
        max=record["max_val"],
        values=None if values is None else tuple(values),
        stats_source=entry["stats_source"],
    )


def _output_facts(output: OutputMeta) -> list[Any]:
    return [list(output.path), list(output.shape), list(output.stride), output.dtype]


def _output(entry: list[Any]) -> OutputMeta:
    path, shape, stride, dtype = entry
    return OutputMeta(tuple(path), tuple(shape), tuple(stride), dtype)
