"""What each call of a graph takes and returns: the columns of `nodes` that spare a query joining it to itself.

Text columns repeat much, so Parquet stores each once per row group and DuckDB groups them by their dictionary codes.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

from extract.graph import Graph, OpRef, OutputMeta, TensorMeta

_Meta = TensorMeta | OutputMeta


@dataclass(frozen=True, slots=True)
class CallFacts:
    """One call: its operands (the index of an op, or -1 - the position of a tensor), the op that made each (or the kind
    of the tensor), operand shapes as JSON (null: no tensor), bytes of the distinct operands and of what is returned
    (None where a tensor's dtype has no known size), and ops on the longest path of operands that ends with this one."""

    operands: list[int]
    operand_ops: str
    operand_shapes: str
    operand_bytes: int | None
    output_bytes: int | None
    depth: int


def call_facts(graph: Graph) -> list[CallFacts]:
    """Return the facts of each op, in order; linear in the graph."""
    made = [{output.path: output for output in node.outputs} for node in graph.nodes]
    facts: list[CallFacts] = []
    for node in graph.nodes:
        operands: list[int] = []
        ops: list[str] = []
        metas: dict[tuple[int, tuple[int, ...]], _Meta | None] = {}
        shapes: list[tuple[int, ...] | None] = []
        depth = 0
        for ref in node.refs():
            if isinstance(ref, OpRef):
                operand, path, op = ref.index, ref.path, graph.nodes[ref.index].op
                meta = made[operand].get(path)
                depth = max(depth, facts[operand].depth)
            else:
                operand, path, meta = -1 - ref.index, (), graph.tensors[ref.index]
                op = meta.kind
            operands.append(operand)
            ops.append(op)
            metas[operand, path] = meta
            shapes.append(None if meta is None else meta.shape)
        operand_bytes = _num_bytes(metas.values())
        output_bytes = _num_bytes(node.outputs)
        shapes_json = _shapes_json(tuple(shapes))
        facts.append(CallFacts(operands, " ".join(ops), shapes_json, operand_bytes, output_bytes, depth + 1))
    return facts


@lru_cache(maxsize=256)
def element_bytes(dtype: str) -> int | None:
    """Return the bytes of one element as torch stores it; None for a name that is not torch's."""
    if dtype == "bool":
        return 1
    bits = re.match(r"\D+(\d+)", dtype)
    return max(int(bits[1]) // 8, 1) if bits else None


@lru_cache(maxsize=1 << 16)
def _shapes_json(shapes: tuple[tuple[int, ...] | None, ...]) -> str:
    return json.dumps(shapes, separators=(",", ":"))


def _num_bytes(metas: Iterable[_Meta | None]) -> int | None:
    total = 0
    for meta in metas:
        if meta is None:
            continue
        size = element_bytes(meta.dtype)
        if size is None:
            return None
        total += math.prod(meta.shape) * size
    return total
