"""A subgraph and the expressions of its sizes to the subgraph at any sizes that its constraints allow.

Nothing is traced: the integers that vary are computed and put in their places. `mining.symbolic` says what is promised.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from extract.graph import Arg, Graph, Node, TensorMeta
from extract.shape_configs import Sizes
from mining.expression import Constraint, Expression, ExpressionError
from mining.literal_changes import Path, changed_call, literal_at
from mining.symbolic import Place


def instantiate(
    graph: Graph, expressions: Mapping[Place, Expression], constraints: Iterable[Constraint], sizes: Sizes
) -> Graph:
    """Return a subgraph's cut, at whatever sizes it is, at other ones; its dtype stays.

    What ops return is left out, and what was known of the values of tensors whose shape changes. Raises
    `ExpressionError` where a constraint fails, an axis lacks, or a dimension would be negative, or one where it was
    none: layouts and broadcasts are others then.
    """
    for constraint in constraints:
        if not constraint.check(sizes):
            raise ExpressionError(f"{constraint.text} does not hold for {dict(sizes)}: nothing is known there")
    values = {place: expression.evaluate(sizes) for place, expression in expressions.items()}
    tensors = tuple([_resized(meta, owner, values) for owner, meta in enumerate(graph.tensors)])
    nodes = tuple([_changed(node, op, values) for op, node in enumerate(graph.nodes)])
    return Graph(nodes, tensors, graph.outputs)


def _resized(meta: TensorMeta, owner: int, values: Mapping[Place, int]) -> TensorMeta:
    dims = range(len(meta.shape))
    shape = tuple([values.get(Place("shape", owner, (dim,)), meta.shape[dim]) for dim in dims])
    stride = tuple([values.get(Place("stride", owner, (dim,)), meta.stride[dim]) for dim in dims])
    if any(new == 1 != old for new, old in zip(shape, meta.shape, strict=True)):
        raise ExpressionError(f"operand {owner} would have shape {shape}: no size seen made a dimension one")
    if min((*shape, *stride), default=0) < 0:
        raise ExpressionError(f"operand {owner} would have shape {shape} and strides {stride}")
    if shape == meta.shape:
        return replace(meta, stride=stride)
    return TensorMeta(meta.name, meta.kind, meta.original_name, shape, stride, meta.dtype)


def _changed(node: Node, op: int, values: Mapping[Place, int]) -> Node:
    changes: list[tuple[Path, Arg]] = []
    for place, value in values.items():
        if place.kind == "literal" and place.owner == op:
            is_float = isinstance(literal_at(node, place.path), float)
            changes.append((place.path, float(value) if is_float else value))
    return replace(changed_call(node, changes), outputs=())
