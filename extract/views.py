"""Which calls return memory of their first operand, by recorded shapes, strides and dtypes; how much memory that is.

Sharper than `extract.cut.VIEW_OPS`, which names every op that may: where the outcome depends on layout or dtype, as of
`reshape`, these are asked.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

from extract.canonical import is_random
from extract.graph import (
    Arg,
    ArgList,
    Graph,
    Node,
    OpRef,
    OutputMeta,
    Ref,
    TensorMeta,
    TensorRef,
    contiguous_stride,
    iter_refs,
)

Meta = TensorMeta | OutputMeta
Facts = Mapping[Ref, Meta]

ALWAYS_VIEWS = frozenset(
    "view transpose permute t T mT H mH expand expand_as squeeze unsqueeze narrow select chunk split split_with_sizes "
    "unbind movedim diagonal detach data as_strided unfold view_as broadcast_to swapaxes real imag tensor_split vsplit "
    "hsplit dsplit view_as_real view_as_complex alias adjoint atleast_1d atleast_2d atleast_3d unflatten "
    "broadcast_tensors".split()
)
# Their operand again where that has the dtype and the strides asked for, else copies.
_MAYBE_SAME = frozenset("contiguous to type float double half bfloat16 type_as long int bool cpu".split())
_DROPOUTS = frozenset("dropout dropout2d dropout3d alpha_dropout feature_dropout feature_alpha_dropout".split())
_RESHAPES = frozenset("reshape flatten ravel reshape_as".split())

_NUM_BYTES = {"complex128": 16, "complex64": 8, "complex32": 4, "bool": 1, "bfloat16": 2}


class GraphFacts(Mapping[Ref, Meta]):
    """The record of every value of a graph that has one, looked up as it is asked for: a cut asks for few."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph

    def __getitem__(self, ref: Ref) -> Meta:
        found = self.get(ref)
        if found is None:
            raise KeyError(ref)
        return found

    def get(self, key: Ref, default: Any = None) -> Any:
        """Return the record of a value, `default` where it has none."""
        graph, index = self._graph, key.index
        if type(key) is TensorRef:
            return graph.tensors[index] if 0 <= index < len(graph.tensors) else default
        for output in graph.nodes[index].outputs if 0 <= index < len(graph.nodes) else ():
            if output.path == key.path:  # pyright: ignore[reportAttributeAccessIssue]
                return output
        return default

    def __iter__(self) -> Iterator[Ref]:
        yield from map(TensorRef, range(len(self._graph.tensors)))
        for index, node in enumerate(self._graph.nodes):
            yield from (OpRef(index, output.path) for output in node.outputs)

    def __len__(self) -> int:
        return len(self._graph.tensors) + sum(len(node.outputs) for node in self._graph.nodes)


def facts_of(graph: Graph) -> GraphFacts:
    """Return the record of every value of a graph that has one."""
    return GraphFacts(graph)


def is_view(node: Node, facts: Facts) -> bool:
    """Tell whether a call returns memory of its first operand; where a record is missing, whether its op must."""
    if node.op in ALWAYS_VIEWS:
        return node.target != "torch.nn.functional.unfold"  # patches in columns: a copy
    if node.op == "getitem":
        return not any(map(_is_index_tensor, node.args[1:]))  # that makes a copy
    if node.op in _DROPOUTS:
        return not is_random(node)
    if node.op not in _MAYBE_SAME and node.op not in _RESHAPES:
        return False
    given = facts.get(next(node.refs(), TensorRef(-1)))
    if given is None or not node.outputs:
        return False
    made = node.outputs[0]
    if node.op in _RESHAPES:
        return view_stride(given.shape, given.stride, made.shape) is not None
    return given.dtype == made.dtype and _same_layout(given, made)


def num_bytes(meta: Meta) -> int:
    """Return the memory behind a tensor's elements: an expanded one (stride 0) holds each once."""
    spanned = math.prod([size for size, step in zip(meta.shape, meta.stride, strict=True) if step or size == 0])
    return spanned * item_bytes(meta.dtype)


def item_bytes(dtype: str) -> int:
    """Return the bytes of an element; raises ValueError for a dtype that is none of torch's whole-byte ones."""
    known = _NUM_BYTES.get(dtype)
    if known is None:
        digits = "".join(char for char in dtype.partition("_")[0] if char.isdigit())
        bits = int(digits or 0)
        if not bits or bits % 8:
            raise ValueError(f"elements of dtype {dtype!r} have an unknown size")
        known = _NUM_BYTES[dtype] = bits // 8
    return known


def view_stride(shape: tuple[int, ...], stride: tuple[int, ...], wanted: tuple[int, ...]) -> tuple[int, ...] | None:
    """Return the strides with which memory shows another shape of as many elements, None where only a copy can.

    Dimensions that lie as one in memory are taken together, each filled by the last dimensions asked for that are left
    (ATen/TensorUtils.cpp, `computeStride_impl`).
    """
    if math.prod(shape) == 0:
        return stride if shape == wanted else contiguous_stride(wanted)
    strides: list[int] = []
    left = list(wanted)
    chunk, step = 1, stride[-1] if stride else 1
    for dim in range(len(shape) - 1, -1, -1):
        chunk *= shape[dim]
        if dim and (shape[dim - 1] == 1 or stride[dim - 1] == chunk * step):
            continue
        taken = 1
        while left and (taken < chunk or left[-1] == 1):
            strides.append(taken * step)
            taken *= left.pop()
        if taken != chunk:
            return None
        chunk, step = 1, stride[dim - 1] if dim else 1
    strides += [step] * len(left)
    return tuple(reversed(strides)) if math.prod(left) == 1 else None


def _is_index_tensor(index: Arg) -> bool:
    """Tell whether an index holds a tensor, or a list or bool, which torch makes a tensor of."""
    entries = index if isinstance(index, tuple) else (index,)
    return any(isinstance(entry, ArgList | bool) or any(True for _ in iter_refs(entry)) for entry in entries)


def _same_layout(given: Meta, made: Meta) -> bool:
    return given.shape == made.shape and all(
        size == 1 or step == other for size, step, other in zip(given.shape, given.stride, made.stride, strict=True)
    )
