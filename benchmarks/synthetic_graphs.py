"""Variants of a real graph: the same ops and edges at other widths, image or sequence lengths, dtypes and eps literals.

A variant renames sizes by one function of the value, everywhere it occurs in the graph, so that sizes that were equal
stay equal: multiples of 16 from 48 up (channels, heads, hidden sizes) are multiplied by `width`; the lengths of the
input (image side and its halves, their squares and squares plus one for the class token, sequence length) become those
of the new length, in activations and in size arguments but not in weights. Strides keep the order of the dimensions
and are dense. Weights, inputs and results of dtype float32 become `dtype`; literals below 1e-4 (eps) are scaled. What
is not kept is arithmetic between sizes (a sum of a scaled and an unscaled one); hashes and columns are computed from
the varied graph as for a traced one.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from extract.graph import (
    Arg,
    ArgList,
    ArgSlice,
    Graph,
    Node,
    OutputMeta,
    TensorMeta,
    contiguous_stride,
    is_contiguous,
)
from extract.op_tables import load_size_args

WIDTHS: Final = tuple(Fraction(sixteenths, 16) for sixteenths in (16, 8, 12, 20, 24, 28, 32, 40, 48, 10, 14, 18, 64))
LENGTH_STEPS: Final = (0, 1, 2, -1, 4, -2, 8, 16)  # of 32 pixels or positions
DTYPES: Final = ("float32", "bfloat16", "float16")
EPS_FACTORS: Final = (1.0, 0.1)
_MIN_WIDTH: Final = 48
_MIN_LENGTH: Final = 4
_MAX_EPS: Final = 1e-4
_MAX_VALUES: Final = 64

SizeMap = Callable[[int], int]


@dataclass(frozen=True, slots=True)
class Variant:
    """What is changed; the first of `variants` changes nothing."""

    width: Fraction
    length_step: int
    dtype: str
    eps_factor: float


def variants(rng: random.Random) -> Iterator[Variant]:
    """Yield every combination once, the unchanged graph first and the others in an order that `rng` draws."""
    first, *others = itertools.starmap(Variant, itertools.product(WIDTHS, LENGTH_STEPS, DTYPES, EPS_FACTORS))
    yield first
    yield from rng.sample(others, len(others))


def vary(graph: Graph, variant: Variant) -> Graph:
    """Return the graph at a variant's sizes and dtype; graphs without such sizes may come back equal."""
    lengths = _length_map(graph, variant.length_step)
    weight_size = _width_map(variant.width, lengths)
    value_size: SizeMap = lambda size: lengths[size] if size in lengths else weight_size(size)  # noqa: E731
    layout = _Layout(value_size, variant.dtype)
    sized_ops = {op for op, _ in load_size_args()}
    nodes = tuple(
        _vary_node(node, value_size if node.op in sized_ops else weight_size, variant.eps_factor, layout)
        for node in graph.nodes
    )
    weights = _Layout(weight_size, variant.dtype)
    tensors = tuple(_vary_tensor(tensor, layout if tensor.kind == "input" else weights) for tensor in graph.tensors)
    return dataclasses.replace(graph, nodes=nodes, tensors=tensors)


class _Layout:
    """Shape, stride and dtype of one tensor to those of the variant, each pair computed once."""

    def __init__(self, size: SizeMap, dtype: str) -> None:
        self._size = size
        self._dtype = dtype
        self._known: dict[tuple[tuple[int, ...], tuple[int, ...]], tuple[tuple[int, ...], tuple[int, ...]]] = {}

    def dtype(self, name: str) -> str:
        return self._dtype if name == "float32" else name

    def __call__(self, shape: tuple[int, ...], stride: tuple[int, ...]) -> tuple[tuple[int, ...], tuple[int, ...]]:
        key = shape, stride
        if key not in self._known:
            varied = tuple(map(self._size, shape))
            dense = contiguous_stride(varied) if is_contiguous(shape, stride) else _dense(varied, stride)
            self._known[key] = varied, dense
        return self._known[key]


def _dense(shape: tuple[int, ...], stride: tuple[int, ...]) -> tuple[int, ...]:
    """Lay out `shape` densely with its dimensions in the order of `stride`; expanded dimensions stay expanded."""
    dense = [0] * len(shape)
    step = 1
    for axis in sorted(range(len(shape)), key=lambda axis: (stride[axis], -axis)):
        if stride[axis]:
            dense[axis] = step
            step *= max(shape[axis], 1)
    return tuple(dense)


def _width_map(width: Fraction, lengths: dict[int, int]) -> SizeMap:
    def scale(size: int) -> int:
        is_width = size >= _MIN_WIDTH and size % 16 == 0 and size not in lengths
        return size * width.numerator // width.denominator if is_width else size

    return scale


def _length_map(graph: Graph, step: int) -> dict[int, int]:
    """Map the lengths of the graph's inputs, and what models derive from them, to those `32 * step` longer."""
    found: dict[int, int] = {}
    for tensor in graph.tensors:
        if tensor.kind != "input" or len(tensor.shape) not in (2, 4):
            continue
        old = tensor.shape[-1]
        new = max(old + 32 * step, 32)
        while old >= _MIN_LENGTH:
            found.setdefault(old, new)
            if len(tensor.shape) == 4:
                found.setdefault(old * old, new * new)
                found.setdefault(old * old + 1, new * new + 1)
            if len(tensor.shape) == 2 or old % 2:
                break
            old, new = old // 2, max(new // 2, 1)
    return found


def _vary_tensor(tensor: TensorMeta, layout: _Layout) -> TensorMeta:
    shape, stride = layout(tensor.shape, tensor.stride)
    values, count = tensor.values, math.prod(shape)
    if values is not None and len(values) != count:
        values = tuple(itertools.islice(itertools.cycle(values), count)) if values and count < _MAX_VALUES else None
    return dataclasses.replace(tensor, shape=shape, stride=stride, dtype=layout.dtype(tensor.dtype), values=values)


def _vary_node(node: Node, size: SizeMap, eps_factor: float, layout: _Layout) -> Node:
    args = tuple(_vary_arg(arg, size, eps_factor) for arg in node.args)
    kwargs = tuple((name, _vary_arg(arg, size, eps_factor)) for name, arg in node.kwargs)
    outputs = tuple(_vary_output(output, layout) for output in node.outputs)
    return Node(node.op, node.target, args, kwargs, outputs)


def _vary_output(output: OutputMeta, layout: _Layout) -> OutputMeta:
    shape, stride = layout(output.shape, output.stride)
    return OutputMeta(output.path, shape, stride, layout.dtype(output.dtype))


def _vary_arg(arg: Arg, size: SizeMap, eps_factor: float) -> Arg:
    if isinstance(arg, bool):
        return arg
    if isinstance(arg, int):
        return size(arg)
    if isinstance(arg, float):
        return arg * eps_factor if 0 < arg < _MAX_EPS else arg
    if isinstance(arg, tuple):
        return tuple(_vary_arg(element, size, eps_factor) for element in arg)
    if isinstance(arg, ArgList):
        return ArgList(tuple(_vary_arg(element, size, eps_factor) for element in arg.elements))
    if isinstance(arg, ArgSlice):
        return ArgSlice(*(_vary_arg(bound, size, eps_factor) for bound in (arg.start, arg.stop, arg.step)))
    return arg
