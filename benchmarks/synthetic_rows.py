"""A real graph's rows to those of its variants, each distinct call, layout and single-op key computed once.

The rows are those that `storage.records` would write for the varied graph (`passnet fsck --deep` checks them), at a
tenth of the cost: what repeats in a graph is found once, and a column is gathered from its distinct values.
"""

from __future__ import annotations

import dataclasses
import itertools
import json
import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from benchmarks.synthetic_graphs import DTYPES, Sizes, Variant, has_sizes
from extract.call_forms import form_calls
from extract.graph import Graph, Node, OpRef, OutputMeta, Ref, TensorMeta, TensorRef
from extract.hashing import hash_graph, signature_from, single_op_sha256, tensor_numbers
from extract.literals import arguments_json
from extract.text import render
from storage.call_facts import call_facts, element_bytes
from storage.records import rows_to_table
from storage.schemas import SCHEMAS

Row = dict[str, Any]
_MAX_VALUES = 64


@dataclass(frozen=True, slots=True)
class VariedGraph:
    """The rows of one variant at one dtype, and its number of parameters."""

    dtype: str
    signature_sha256: str
    num_parameters: int
    graphs: pa.Table
    graph_texts: pa.Table
    nodes: pa.Table


class Template:
    """A real graph, prepared for many variants; `row` is its row of `graphs`."""

    def __init__(self, graph: Graph, row: Row) -> None:
        self.graph = graph
        self._row = row
        self._numbers = tensor_numbers(graph)
        self._literals = [arguments_json(node) for node in graph.nodes]
        self._sized = [
            index
            for index, node in enumerate(graph.nodes)
            if any(map(has_sizes, itertools.chain(node.args, (value for _, value in node.kwargs))))
        ]
        self._calls, self._call_codes = _distinct([self._call(node) for node in graph.nodes])
        keys = [single_op_sha256(graph, index) for index in range(len(graph.nodes))]
        distinct_keys, self._key_codes = _distinct(keys)
        self._key_indexes = [keys.index(key) for key in distinct_keys]
        facts = call_facts(graph, form_calls(graph.nodes))
        schema = SCHEMAS["nodes"]
        self._fixed = {
            name: pa.array(values, schema.field(name).type)
            for name, values in {
                "index": range(len(graph.nodes)),
                "op": [node.op for node in graph.nodes],
                "target": [node.target for node in graph.nodes],
                "operands": [[_operand(ref) for ref in node.refs()] for node in graph.nodes],
                "operand_ops": [call.operand_ops for call in facts],
                "depth": [call.depth for call in facts],
            }.items()
        }

    def vary(self, variant: Variant, seen: set[str]) -> Iterator[VariedGraph]:
        """Yield the variant at each dtype of `DTYPES`, but for signatures in `seen`, to which it adds the new ones."""
        sizes = Sizes(self.graph, variant)
        nodes, literals = list(self.graph.nodes), list(self._literals)
        for index in self._sized:
            nodes[index] = sizes.node(nodes[index])
            literals[index] = arguments_json(nodes[index])
        program = dataclasses.replace(self.graph, nodes=tuple(nodes))
        hashes, text = hash_graph(program), render(program)
        program_rows = {"graph_sha256": hashes.graph_sha256, "structure_sha256": hashes.structure_sha256}
        literal_column = pa.array(literals, pa.string())
        for dtype in DTYPES:
            tensors = [_vary_tensor(tensor, sizes, dtype) for tensor in self.graph.tensors]
            signature = signature_from(hashes.graph_sha256, tensors, self._numbers)
            if signature in seen:
                continue
            seen.add(signature)
            identity = {"signature_sha256": signature}
            yield VariedGraph(
                dtype,
                signature,
                sum(math.prod(tensor.shape) for tensor in tensors if tensor.kind == "parameter"),
                rows_to_table("graphs", [self._graph_row(tensors, dtype) | program_rows | identity]),
                rows_to_table("graph_texts", [{"model_py": text} | identity]),
                self._node_rows(signature, program, tensors, sizes, dtype, literal_column),
            )

    def _call(self, node: Node) -> tuple[Any, ...]:
        """What decides the shapes and bytes of a call: operands (weights apart), the distinct ones, results."""
        refs = list(node.refs())
        return tuple(map(self._meta, refs)), tuple(map(self._meta, dict.fromkeys(refs))), node.outputs

    def _meta(self, ref: Ref) -> tuple[OutputMeta, bool] | None:
        if isinstance(ref, TensorRef):
            tensor = self.graph.tensors[ref.index]
            return OutputMeta((), tensor.shape, tensor.stride, tensor.dtype), tensor.kind != "input"
        found = [output for output in self.graph.nodes[ref.index].outputs if output.path == ref.path]
        return (dataclasses.replace(found[0], path=()), False) if found else None

    def _graph_row(self, tensors: list[TensorMeta], dtype: str) -> Row:
        counts: Counter[str] = Counter()
        for code, number in Counter(self._call_codes.tolist()).items():
            for output in self._calls[code][2]:
                counts[_dtype(output.dtype, dtype)] += number
        floating = [name for name in counts if name.startswith(("float", "bfloat"))]
        rows = [
            row | {"shape": tensor.shape, "stride": tensor.stride, "dtype": tensor.dtype, "data": _values(row, tensor)}
            for row, tensor in zip(self._row["tensors"], tensors, strict=True)
        ]
        main = min(floating, key=lambda name: (-counts[name], name)) if floating else None
        return self._row | {"tensors": rows, "dtype": main}

    def _node_rows(
        self, signature: str, program: Graph, tensors: list[TensorMeta], sizes: Sizes, dtype: str, literals: pa.Array
    ) -> pa.Table:
        schema = SCHEMAS["nodes"]
        calls = [_call_row(operands, distinct, made, sizes, dtype) for operands, distinct, made in self._calls]
        columns = {
            name: pa.array([call[name] for call in calls], schema.field(name).type).take(pa.array(self._call_codes))
            for name in calls[0]
        }
        keys = pa.array(self._single_op_keys(program, tensors, sizes, dtype), pa.string())
        columns |= self._fixed | {
            "signature_sha256": pa.repeat(signature, len(self.graph.nodes)),
            "literals": literals,
            "single_op_sha256": keys.take(pa.array(self._key_codes)),
        }
        return pa.Table.from_arrays([columns[field.name] for field in schema], schema=schema)

    def _single_op_keys(self, program: Graph, tensors: list[TensorMeta], sizes: Sizes, dtype: str) -> list[str]:
        nodes = list(program.nodes)
        producers = {ref.index for index in self._key_indexes for ref in nodes[index].refs() if isinstance(ref, OpRef)}
        for index in producers:
            outputs = tuple(_vary_output(output, sizes, dtype) for output in nodes[index].outputs)
            nodes[index] = dataclasses.replace(nodes[index], outputs=outputs)
        varied = Graph(tuple(nodes), tuple(tensors), program.outputs)
        return [single_op_sha256(varied, index) for index in self._key_indexes]


def _distinct(values: list[Any]) -> tuple[list[Any], np.ndarray[Any, np.dtype[np.int32]]]:
    codes: dict[Any, int] = {}
    found = np.array([codes.setdefault(value, len(codes)) for value in values], np.int32)
    return list(codes), found


def _operand(ref: Ref) -> int:
    return -1 - ref.index if isinstance(ref, TensorRef) else ref.index


def _dtype(name: str, dtype: str) -> str:
    return dtype if name == "float32" else name


def _vary_output(output: OutputMeta, sizes: Sizes, dtype: str, *, is_weight: bool = False) -> OutputMeta:
    shape, stride = sizes.layout(output.shape, output.stride, is_weight=is_weight)
    return OutputMeta(output.path, shape, stride, _dtype(output.dtype, dtype))


def _vary_tensor(tensor: TensorMeta, sizes: Sizes, dtype: str) -> TensorMeta:
    shape, stride = sizes.layout(tensor.shape, tensor.stride, is_weight=tensor.kind != "input")
    return dataclasses.replace(tensor, shape=shape, stride=stride, dtype=_dtype(tensor.dtype, dtype))


def _values(row: Row, tensor: TensorMeta) -> list[float] | None:
    """Values of a tensor of another size: the same over again, none from 64 elements on."""
    count = math.prod(tensor.shape)
    if not row["data"] or count == len(row["data"]):
        return row["data"]
    return list(itertools.islice(itertools.cycle(row["data"]), count)) if count < _MAX_VALUES else None


def _call_row(operands: Any, distinct: Any, outputs: tuple[OutputMeta, ...], sizes: Sizes, dtype: str) -> Row:
    taken = [None if meta is None else _vary_output(meta[0], sizes, dtype, is_weight=meta[1]) for meta in operands]
    read = [_vary_output(meta[0], sizes, dtype, is_weight=meta[1]) for meta in distinct if meta is not None]
    made = [_vary_output(output, sizes, dtype) for output in outputs]
    first = made[0] if made else None
    return {
        "operand_shapes": json.dumps([meta and meta.shape for meta in taken], separators=(",", ":")),
        "operand_bytes": _num_bytes(read),
        "output_bytes": _num_bytes(made),
        "output_shape": first and first.shape,
        "output_dtype": first and first.dtype,
        "outputs": [{"path": o.path, "shape": o.shape, "stride": o.stride, "dtype": o.dtype} for o in made],
    }


def _num_bytes(metas: list[OutputMeta]) -> int | None:
    sizes = [element_bytes(meta.dtype) for meta in metas]
    known = [size for size in sizes if size is not None]
    if len(known) < len(sizes):
        return None
    return sum(math.prod(meta.shape) * size for meta, size in zip(metas, known, strict=True))
