"""What each call of a graph takes and returns: the columns of `nodes` that spare a query joining it to itself.

Text columns repeat much, so Parquet stores each once per row group and DuckDB groups them by their dictionary codes.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from extract.graph import Graph, Node, OpRef, OutputMeta, Ref, TensorMeta, TensorRef

_Meta = TensorMeta | OutputMeta


@dataclass(frozen=True, slots=True)
class CallFacts:
    """One call: the op that made each operand (or the kind of the tensor), operand shapes as JSON (null: no tensor),
    bytes of the distinct operands and of what is returned (None where a tensor's dtype has no known size), and ops on
    the longest path of operands that ends with this one."""

    operand_ops: str
    operand_shapes: str
    operand_bytes: int | None
    output_bytes: int | None
    depth: int


def call_facts(graph: Graph) -> list[CallFacts]:
    """Return the facts of each op, in order; linear in the graph."""
    metas: dict[Ref, _Meta] = {TensorRef(index): tensor for index, tensor in enumerate(graph.tensors)}
    for index, node in enumerate(graph.nodes):
        metas.update({OpRef(index, output.path): output for output in node.outputs})
    depths: list[int] = []
    for node in graph.nodes:
        depths.append(1 + max((depths[ref.index] for ref in node.refs() if isinstance(ref, OpRef)), default=0))
    return [_facts_of(node, depth, graph, metas) for node, depth in zip(graph.nodes, depths, strict=True)]


@lru_cache(maxsize=256)
def element_bytes(dtype: str) -> int | None:
    """Return the bytes of one element as torch stores it; None for a name that is not torch's."""
    if dtype == "bool":
        return 1
    bits = re.match(r"\D+(\d+)", dtype)
    return max(int(bits[1]) // 8, 1) if bits else None


def _facts_of(node: Node, depth: int, graph: Graph, metas: Mapping[Ref, _Meta]) -> CallFacts:
    refs = list(node.refs())
    ops = [graph.nodes[ref.index].op if isinstance(ref, OpRef) else graph.tensors[ref.index].kind for ref in refs]
    operands = [metas.get(ref) for ref in refs]
    distinct = [meta for ref in dict.fromkeys(refs) if (meta := metas.get(ref)) is not None]
    shapes = _shapes_json(tuple(None if meta is None else meta.shape for meta in operands))
    return CallFacts(" ".join(ops), shapes, _num_bytes(distinct), _num_bytes(node.outputs), depth)


@lru_cache(maxsize=1 << 16)
def _shapes_json(shapes: tuple[tuple[int, ...] | None, ...]) -> str:
    return json.dumps(shapes, separators=(",", ":"))


def _num_bytes(metas: list[_Meta] | tuple[OutputMeta, ...]) -> int | None:
    total = 0
    for meta in metas:
        size = element_bytes(meta.dtype)
        if size is None:
            return None
        total += math.prod(meta.shape) * size
    return total
