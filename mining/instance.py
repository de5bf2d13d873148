"""A subgraph in a shape and a dtype, as a recipe: what to change in the subgraph's cut to get the variant's.

A variant is the trace of a model at another size of its inputs or in another dtype; it enters no table of graphs. The
same range of base and variant is compared call by call. Where they differ in literals alone, the operands' shapes,
strides and dtypes and the literals that are others make the variant's cut of the base's: `render` gives it back, and
its hash proves it (definitions.md section 5).
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from extract.call_forms import Form, FormedCall
from extract.formed_cut import FormedCut
from extract.graph import Arg, Graph, Kind, Node, TensorMeta
from extract.hashing import hash_graph
from extract.shape_configs import Sizes
from mining.literal_changes import Differs, Path, changed_call, literal_changes

ALGORITHM: Final = "passnet-instance/1"


@dataclass(frozen=True, slots=True)
class Variant:
    """A traced variant of a model: what all instances that are cut out of it share. `signature_sha256` is that of the
    whole graph, `shape_config` the row of the model's table of sizes, `dtype` that of its weights."""

    model_id: str
    signature_sha256: str
    shape_config: int
    dtype: str
    sizes: Sizes


@dataclass(frozen=True, slots=True)
class OperandShape:
    """One operand of a cut; `stride` counts elements."""

    kind: Kind
    shape: tuple[int, ...]
    stride: tuple[int, ...]
    dtype: str


@dataclass(frozen=True, slots=True)
class Override:
    """A literal of the subgraph that is another in the variant: in its op number `op`, at `path`, it is `value`.

    A path opens with the position of a positional argument or the name of a keyword one, and goes on with positions
    in the lists, tuples and slices (start, stop, step) that lie in it. A value holds no refs.
    """

    op: int
    path: Path
    value: Arg


@dataclass(frozen=True, slots=True)
class Instance:
    """A recipe. The base is ops [base_start, base_start + end - start) of the model's graph, the variant's cut is ops
    [start, end) of the graph of `signature_sha256`; operands are in the cut's order, overrides in the program's."""

    subgraph_sha256: str
    instance_sha256: str
    structure_sha256: str
    model_id: str
    signature_sha256: str
    base_start: int
    start: int
    end: int
    shape_config: int
    dtype: str
    sizes: Sizes
    operands: tuple[OperandShape, ...]
    overrides: tuple[Override, ...]


class NoInstance(ValueError):
    """The variant's range is no instance of the subgraph; `reason` is `ops_changed` or `edges_changed`."""

    def __init__(self, reason: str, detail: str) -> None:
        super().__init__(reason, detail)
        self.reason = reason
        self.detail = detail


def make_instance(base: FormedCut, cut: FormedCut, variant: Variant) -> Instance:
    """Return the recipe that makes `cut`, a range of `variant`, of the subgraph's cut `base`.

    Raises `NoInstance`: `ops_changed` where an op, its spelling or the structure of its arguments is another, or the
    numbers of operands or results are; `edges_changed` where an op takes, or the cut leaves, other values. Costs
    microseconds per op: calls of one form are compared once.
    """
    return Instance(
        base.hashes.graph_sha256,
        instance_sha256(cut.hashes.signature_sha256),
        cut.hashes.structure_sha256,
        variant.model_id,
        variant.signature_sha256,
        base.start,
        cut.start,
        cut.end,
        variant.shape_config,
        variant.dtype,
        variant.sizes,
        tuple([OperandShape(meta.kind, meta.shape, meta.stride, meta.dtype) for meta in cut.tensors]),
        _overrides(base, cut),
    )


def instance_sha256(signature_sha256: str) -> str:
    """Return the identity of an instance from the signature of the cut at its variant."""
    return hashlib.sha256(f"{ALGORITHM}\n{signature_sha256}".encode()).hexdigest()


def render(base: Graph, instance: Instance) -> Graph:
    """Return the variant's cut, made of the subgraph's cut in the model's own graph; tensors keep the base's names.

    What ops return is unknown (no `outputs`) unless the instance is the base itself; values and statistics of a tensor
    are kept where its shape is the same. Raises ValueError where `base` is no cut of this subgraph (of a single
    op, whose key says less, that is not known), or the outcome has another hash than the recipe says.
    """
    if instance.end - instance.start > 1 and hash_graph(base).graph_sha256 != instance.subgraph_sha256:
        raise ValueError(f"the base is not subgraph {instance.subgraph_sha256}: cut another range, or another graph")
    graph = _changed(base, instance)
    found = instance_sha256(hash_graph(graph).signature_sha256)
    if found != instance.instance_sha256:
        raise ValueError(f"the recipe of instance {instance.instance_sha256} renders {found}: it is damaged")
    return graph


def _overrides(base: FormedCut, cut: FormedCut) -> tuple[Override, ...]:
    if len(base.calls) != len(cut.calls):
        raise NoInstance("ops_changed", f"{len(cut.calls)} ops instead of {len(base.calls)}")
    overrides: list[Override] = []
    for op, (old, new) in enumerate(zip(base.calls, cut.calls, strict=True)):
        if old[0] is not new[0]:
            overrides += [Override(op, path, value) for path, value in _form_changes(op, old[0], new[0])]
    arity, given = (len(base.tensors), len(base.outputs)), (len(cut.tensors), len(cut.outputs))
    if arity != given:
        raise NoInstance("ops_changed", f"(operands, results) are {given} instead of {arity}")
    _check_edges(base.calls, cut.calls)
    if base.outputs != cut.outputs:
        raise NoInstance("edges_changed", "other values are results")
    return tuple(overrides)


def _form_changes(op: int, old: Form, new: Form) -> Sequence[tuple[Path, Arg]]:
    try:
        return literal_changes(old, new)
    except Differs as error:
        raise NoInstance(error.reason, f"op {op}: {error.detail}") from error


def _check_edges(base: Sequence[FormedCall], cut: Sequence[FormedCall]) -> None:
    for op, (old, new) in enumerate(zip(base, cut, strict=True)):
        if old[1] != new[1]:
            raise NoInstance("edges_changed", f"op {op} ({old[0].call.op}) takes other values")


def _changed(base: Graph, instance: Instance) -> Graph:
    if len(base.tensors) != len(instance.operands):
        raise ValueError(f"the base has {len(base.tensors)} operands, the recipe {len(instance.operands)}")
    tensors = tuple([_reshaped(meta, operand) for meta, operand in zip(base.tensors, instance.operands, strict=True)])
    if tensors == base.tensors and not instance.overrides:
        return base
    changes: dict[int, list[tuple[Path, Arg]]] = {}
    for override in instance.overrides:
        changes.setdefault(override.op, []).append((override.path, override.value))
    nodes = [changed_call(node, changes.get(op, ())) for op, node in enumerate(base.nodes)]
    return Graph(tuple([Node(node.op, node.target, node.args, node.kwargs) for node in nodes]), tensors, base.outputs)


def _reshaped(meta: TensorMeta, operand: OperandShape) -> TensorMeta:
    """Return a tensor's record as the variant has it; what is known of values does not outlive another shape."""
    if (meta.kind, meta.shape, meta.stride, meta.dtype) == (
        operand.kind,
        operand.shape,
        operand.stride,
        operand.dtype,
    ):
        return meta
    if meta.shape == operand.shape:
        return replace(meta, kind=operand.kind, stride=operand.stride, dtype=operand.dtype)
    return TensorMeta(meta.name, operand.kind, meta.original_name, operand.shape, operand.stride, operand.dtype)
