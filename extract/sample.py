"""A graph to the six files of the public sample layout and back (design.md section 3).

`model.py` holds the program, `weight_meta.py` and `input_meta.py` one class per argument, `graph_net.json` what the
layout has no place for (kinds, strides, exact statistics, op outputs) under the key `passnet`, `graph_hash.txt`
our graph_sha256. Files are parsed with `ast` and `json`, never executed. Reading back what was written gives an equal
graph, field by field.
"""

from __future__ import annotations

import ast
import json
import math
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from extract.graph import Graph, Node, OutputMeta, TensorMeta
from extract.hashing import GraphHashes, hash_graph
from extract.text import parse, render

FILE_NAMES = (
    "model.py",
    "weight_meta.py",
    "input_meta.py",
    "graph_net.json",
    "graph_hash.txt",
    "input_tensor_constraints.py",
)


class SampleError(ValueError):
    """Files that are not a sample; says which file and what is wrong in it."""


def sample_files(
    graph: Graph, *, model_name: str | None = None, source: str | None = None, hashes: GraphHashes | None = None
) -> dict[str, str]:
    """Return file name -> text of the sample directory of `graph`; its `hashes` are computed where not given."""
    hashes = hashes or hash_graph(graph)
    weights = [tensor for tensor in graph.tensors if tensor.kind != "input"]
    inputs = [tensor for tensor in graph.tensors if tensor.kind == "input"]
    facts = {
        "framework": "torch",
        "num_devices_required": 1,
        "num_nodes_required": 1,
        "dynamic": False,
        "model_name": model_name,
        "source": source,
        "passnet": {
            "graph_sha256": hashes.graph_sha256,
            "signature_sha256": hashes.signature_sha256,
            "structure_sha256": hashes.structure_sha256,
            "tensors": [_tensor_facts(tensor) for tensor in graph.tensors],
            "outputs": [[_output_facts(output) for output in node.outputs] for node in graph.nodes],
        },
    }
    return {
        "model.py": render(graph),
        "weight_meta.py": "\n".join(_meta_class("weight", tensor) for tensor in weights),
        "input_meta.py": "\n".join(_meta_class("input", tensor) for tensor in inputs),
        "graph_net.json": json.dumps(facts, allow_nan=False, separators=(",", ":")) + "\n",
        "graph_hash.txt": hashes.graph_sha256 + "\n",
        "input_tensor_constraints.py": "",
    }


def graph_from_files(files: Mapping[str, str]) -> Graph:
    """Return the graph of a sample's files; raises `SampleError` when they are not one."""
    if missing := [name for name in ("model.py", "weight_meta.py", "graph_net.json") if name not in files]:
        raise SampleError(f"{missing[0]} is missing")
    try:
        facts = json.loads(files["graph_net.json"]).get("passnet")
    except (ValueError, AttributeError) as error:
        raise SampleError(f"graph_net.json is not a JSON object: {error}") from error
    if facts is None:
        raise SampleError("graph_net.json has no key `passnet`: the sample was not written by us")
    records = _read_meta(files.get("input_meta.py", "")) | _read_meta(files["weight_meta.py"])
    tensors = tuple(_tensor(entry, records) for entry in facts["tensors"])
    graph = parse(files["model.py"], tensors)
    if len(facts["outputs"]) != len(graph.nodes):
        raise SampleError(f"graph_net.json describes {len(facts['outputs'])} ops, model.py has {len(graph.nodes)}")
    return with_outputs(graph, [[_output(entry) for entry in entries] for entries in facts["outputs"]])


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


def _read_meta(text: str) -> dict[str, dict[str, Any]]:
    try:
        classes = [statement for statement in ast.parse(text).body if isinstance(statement, ast.ClassDef)]
    except (SyntaxError, ValueError) as error:
        raise SampleError(f"the metadata is not Python source: {error}") from error
    records: dict[str, dict[str, Any]] = {}
    for entry in classes:
        record = {
            goal.id: _meta_value(row.value)
            for row in entry.body
            if isinstance(row, ast.Assign)
            for goal in row.targets
            if isinstance(goal, ast.Name)
        }
        records[str(record.get("name"))] = record
    return records


def _meta_value(node: ast.expr) -> Any:
    if isinstance(node, ast.List):
        return [_meta_value(element) for element in node.elts]
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "float" and node.args:
        return float(ast.literal_eval(node.args[0]))
    try:
        return ast.literal_eval(node)
    except ValueError as error:
        raise SampleError(f"metadata value {ast.unparse(node)[:80]!r} is not a literal") from error


def _tensor_facts(tensor: TensorMeta) -> dict[str, Any]:
    return {
        "name": tensor.name,
        "kind": tensor.kind,
        "stride": list(tensor.stride),
        "stats_source": tensor.stats_source,
    }


def _tensor(entry: Mapping[str, Any], records: Mapping[str, Mapping[str, Any]]) -> TensorMeta:
    record = records.get(entry["name"])
    if record is None:
        raise SampleError(f"argument {entry['name']} has no class in weight_meta.py or input_meta.py")
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
