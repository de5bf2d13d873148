"""What each call of a graph takes and returns: the columns of `nodes` that spare a query joining it to itself.

Text columns repeat much, so Parquet stores each once per row group and DuckDB groups them by their dictionary codes.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import lru_cache

from extract.call_forms import FormedCall
from extract.graph import Graph, OpRef, OutputMeta, TensorMeta


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


def call_facts(graph: Graph, calls: Sequence[FormedCall]) -> list[CallFacts]:
    """Return the facts of each op, in order, from a graph and its calls; linear in the graph."""
    made = [{output.path: (output.shape, _num_bytes(output)) for output in node.outputs} for node in graph.nodes]
    given = [(tensor.shape, _num_bytes(tensor)) for tensor in graph.tensors]
    facts: list[CallFacts] = []
    for index, (_, refs) in enumerate(calls):
        operands: list[int] = []
        ops: list[str] = []
        shapes: list[tuple[int, ...] | None] = []
        sizes: dict[tuple[int, tuple[int, ...]], int | None] = {}
        depth = 0
        for ref in refs:
            if isinstance(ref, OpRef):
                operand, path = ref.index, ref.path
                shape, size = made[operand].get(path, _NO_TENSOR)
                ops.append(graph.nodes[operand].op)
                depth = max(depth, facts[operand].depth)
            else:
                operand, path = -1 - ref.index, ()
                shape, size = given[ref.index]
                ops.append(graph.tensors[ref.index].kind)
            operands.append(operand)
            shapes.append(shape)
            sizes[operand, path] = size
        output_bytes = _sum([size for _, size in made[index].values()])
        shapes_json = _shapes_json(tuple(shapes))
        facts.append(CallFacts(operands, " ".join(ops), shapes_json, _sum(sizes.values()), output_bytes, depth + 1))
    return facts


_NO_TENSOR: tuple[None, int] = (None, 0)


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


def _num_bytes(meta: TensorMeta | OutputMeta) -> int | None:
    size = element_bytes(meta.dtype)
    return None if size is None else math.prod(meta.shape) * size


def _sum(sizes: Collection[int | None]) -> int | None:
    return None if None in sizes else sum(sizes)  # pyright: ignore[reportArgumentType, reportCallIssue]
