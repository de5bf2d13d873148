"""The computation graph as a plain value: what a trace yields and every later step reads.

A graph is a list of torch-level calls in recorded order over a flat table of tensors (inputs, parameters,
buffers, constants). Nothing here loads torch: tables, hashes and miners work on these records alone.
Two graphs are equal exactly when every field is equal; identity *across* spellings and names is the business
of `extract.hashing` (definitions.md section 1).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import EllipsisType
from typing import Final, Literal

Kind = Literal["input", "parameter", "buffer", "constant"]
StatsSource = Literal["values", "role", "none"]


@dataclass(frozen=True, slots=True)
class TensorRef:
    """Operand taken from the graph's tensor table, by its position there."""

    index: int


@dataclass(frozen=True, slots=True)
class OpRef:
    """Operand made by an op: the op's index, and the path into its (nested) tuple when it returns several."""

    index: int
    path: tuple[int, ...] = ()


Ref = TensorRef | OpRef
REFS: Final = (TensorRef, OpRef)
"""For isinstance in hot loops, where `A | B` would be made anew at each call."""


@dataclass(frozen=True, slots=True)
class TorchConstant:
    """A named torch value in argument position, such as dtype `float32`, device `cpu` or `channels_last`."""

    kind: Literal["dtype", "device", "memory_format", "layout"]
    name: str


@dataclass(frozen=True, slots=True)
class ArgList:
    """A Python list in argument position (a tuple stays a tuple: indexing tells them apart)."""

    elements: tuple[Arg, ...]


@dataclass(frozen=True, slots=True)
class ArgSlice:
    """A slice in argument position; its bounds may be refs (0-dim tensors)."""

    start: Arg
    stop: Arg
    step: Arg


Arg = (
    Ref
    | TorchConstant
    | ArgList
    | ArgSlice
    | tuple["Arg", ...]
    | None
    | bool
    | int
    | float
    | complex
    | str
    | EllipsisType
)


@dataclass(frozen=True, slots=True)
class OutputMeta:
    """One tensor that an op returns: where it sits in the returned structure, shape, stride (elements), dtype."""

    path: tuple[int, ...]
    shape: tuple[int, ...]
    stride: tuple[int, ...]
    dtype: str


@dataclass(frozen=True, slots=True)
class Node:
    """One torch-level call. `target` is its public spelling (`torch.conv2d`, `torch.Tensor.view`, `operator.add`,
    `torch.ops.ns.name`), `op` the canonical name that all spellings of the operation share."""

    op: str
    target: str
    args: tuple[Arg, ...]
    kwargs: tuple[tuple[str, Arg], ...] = ()
    outputs: tuple[OutputMeta, ...] = ()

    def refs(self) -> Iterator[Ref]:
        """Yield the operands in argument order, repeats included."""
        found: list[Ref] = []
        for arg in self.args:
            _collect_refs(arg, found)
        for _, arg in self.kwargs:
            _collect_refs(arg, found)
        return iter(found)


@dataclass(frozen=True, slots=True)
class TensorMeta:
    """One tensor that a graph takes from outside.

    `dtype` is torch's name without the prefix (`float32`); `stride` counts elements. `mean` to `max` describe the
    values (`std` with Bessel's correction), null where unknown; `stats_source` says whether they were measured on
    `values`, supposed from the tensor's `role`, or are absent (`none`). `values` holds the flat values of a tensor
    with fewer than 64 elements, null otherwise.
    """

    name: str
    kind: Kind
    original_name: str
    shape: tuple[int, ...]
    stride: tuple[int, ...]
    dtype: str
    mean: float | None = None
    std: float | None = None
    min: float | None = None
    max: float | None = None
    values: tuple[float | int | bool, ...] | None = None
    stats_source: StatsSource = "none"


@dataclass(frozen=True, slots=True)
class Graph:
    """A program: nodes in recorded order, the tensors they take, and the flattened values they return."""

    nodes: tuple[Node, ...]
    tensors: tuple[TensorMeta, ...]
    outputs: tuple[Ref, ...]

    @property
    def op_names(self) -> tuple[str, ...]:
        """Canonical op names in recorded order."""
        return tuple(node.op for node in self.nodes)


# What holds no refs, asked first: most arguments are numbers, or tuples of them.
LEAVES: Final[frozenset[type]] = frozenset({int, float, bool, str, complex, type(None), EllipsisType, TorchConstant})


def iter_refs(arg: Arg) -> Iterator[Ref]:
    """Yield the refs nested in one argument, left to right."""
    found: list[Ref] = []
    _collect_refs(arg, found)
    return iter(found)


def _collect_refs(arg: Arg, found: list[Ref]) -> None:
    if type(arg) in LEAVES:
        return
    if isinstance(arg, REFS):
        found.append(arg)
    elif type(arg) is tuple and LEAVES.issuperset(map(type, arg)):
        return
    elif isinstance(arg, tuple):
        for element in arg:
            _collect_refs(element, found)
    elif isinstance(arg, ArgList):
        for element in arg.elements:
            _collect_refs(element, found)
    elif isinstance(arg, ArgSlice):
        for bound in (arg.start, arg.stop, arg.step):
            _collect_refs(bound, found)


def map_refs(arg: Arg, change: Callable[[Ref], Arg]) -> Arg:
    """Return one argument with `change` applied to each ref nested in it."""
    if type(arg) in LEAVES:
        return arg
    if isinstance(arg, REFS):
        return change(arg)
    if type(arg) is tuple and LEAVES.issuperset(map(type, arg)):
        return arg
    if isinstance(arg, tuple):
        return tuple([map_refs(element, change) for element in arg])
    if isinstance(arg, ArgList):
        return ArgList(tuple([map_refs(element, change) for element in arg.elements]))
    if isinstance(arg, ArgSlice):
        return ArgSlice(map_refs(arg.start, change), map_refs(arg.stop, change), map_refs(arg.step, change))
    return arg


def contiguous_stride(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Return the row-major stride of `shape`, as torch computes it (a zero-sized dimension counts as one)."""
    stride: list[int] = []
    step = 1
    for size in reversed(shape):
        stride.append(step)
        step *= max(size, 1)
    return tuple(reversed(stride))


def is_contiguous(shape: tuple[int, ...], stride: tuple[int, ...]) -> bool:
    """Tell whether `stride` is row-major for `shape`; dimensions of size one carry no stride."""
    if math.prod(shape) == 0:
        return True
    expected = 1
    for size, step in zip(reversed(shape), reversed(stride), strict=True):
        if size == 1:
            continue
        if step != expected:
            return False
        expected *= size
    return True
