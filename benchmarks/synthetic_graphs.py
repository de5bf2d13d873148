"""Variants of a real graph: the same ops and edges at other widths, image or sequence lengths, dtypes and eps literals.

A variant renames sizes by one function of the value, everywhere it occurs in the graph, so that sizes that were equal
stay equal: multiples of 16 from 48 up (channels, heads, hidden sizes) are multiplied by `width`; the lengths of the
input (image side and its halves, their squares and squares plus one for the class token, sequence length) become those
of the new length, in activations and in size arguments but not in weights. Strides keep the order of the dimensions
and are dense. Weights, inputs and results of dtype float32 become `dtype`; literals below 1e-4 (eps) are scaled. What
is not kept is arithmetic between sizes (a sum of a scaled and an unscaled one).
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from extract.graph import Arg, ArgList, ArgSlice, Graph, Node, contiguous_stride, is_contiguous
from extract.op_tables import load_size_args

WIDTHS: Final = tuple(Fraction(sixteenths, 16) for sixteenths in (16, 8, 12, 20, 24, 28, 32, 40, 48, 10, 14, 18, 64))
LENGTH_STEPS: Final = (0, 1, 2, -1, 4, -2, 8, 16)  # of 32 pixels or positions
EPS_FACTORS: Final = (1.0, 0.1)
DTYPES: Final = ("float32", "bfloat16", "float16")
_MIN_WIDTH: Final = 48
_MIN_LENGTH: Final = 4
_MAX_EPS: Final = 1e-4

SizeMap = Callable[[int], int]
Layout = tuple[tuple[int, ...], tuple[int, ...]]


@dataclass(frozen=True, slots=True)
class Variant:
    """What is changed; the first of `variants` changes nothing."""

    width: Fraction
    length_step: int
    eps_factor: float


def variants(rng: random.Random) -> Iterator[Variant]:
    """Yield every combination once, the unchanged one first and the others in an order that `rng` draws."""
    first, *others = itertools.starmap(Variant, itertools.product(WIDTHS, LENGTH_STEPS, EPS_FACTORS))
    yield first
    yield from rng.sample(others, len(others))


class Sizes:
    """How one variant of one graph changes sizes: `weight` in parameters, buffers and constants, `value` elsewhere."""

    def __init__(self, graph: Graph, variant: Variant) -> None:
        self._lengths = _length_map(graph, variant.length_step)
        self._width = variant.width
        self._eps_factor = variant.eps_factor
        self._sized_ops = {op for op, _ in load_size_args()}
        self._layouts: dict[tuple[Layout, bool], Layout] = {}

    def weight(self, size: int) -> int:
        """Return a size of a weight."""
        is_width = size >= _MIN_WIDTH and size % 16 == 0 and size not in self._lengths
        return size * self._width.numerator // self._width.denominator if is_width else size

    def value(self, size: int) -> int:
        """Return a size of an input or of what an op returns."""
        return self._lengths[size] if size in self._lengths else self.weight(size)

    def layout(self, shape: tuple[int, ...], stride: tuple[int, ...], *, is_weight: bool) -> Layout:
        """Return shape and stride of a tensor."""
        key = (shape, stride), is_weight
        if key not in self._layouts:
            varied = tuple(map(self.weight if is_weight else self.value, shape))
            dense = contiguous_stride(varied) if is_contiguous(shape, stride) else _dense(varied, stride)
            self._layouts[key] = varied, dense
        return self._layouts[key]

    def node(self, node: Node) -> Node:
        """Return the call with its literals changed, the same object when none does; `outputs` stay as they are."""
        size = self.value if node.op in self._sized_ops else self.weight
        args = tuple(_vary_arg(arg, size, self._eps_factor) for arg in node.args)
        kwargs = tuple((name, _vary_arg(arg, size, self._eps_factor)) for name, arg in node.kwargs)
        is_same = (args, kwargs) == (node.args, node.kwargs)
        return node if is_same else Node(node.op, node.target, args, kwargs, node.outputs)


def has_sizes(arg: Arg) -> bool:
    """Tell whether a variant may change a literal in an argument."""
    if isinstance(arg, bool):
        return False
    if isinstance(arg, int):
        return arg >= _MIN_LENGTH
    if isinstance(arg, float):
        return 0 < arg < _MAX_EPS
    if isinstance(arg, tuple):
        return any(map(has_sizes, arg))
    if isinstance(arg, ArgList):
        return any(map(has_sizes, arg.elements))
    return isinstance(arg, ArgSlice) and any(map(has_sizes, (arg.start, arg.stop, arg.step)))


def _dense(shape: tuple[int, ...], stride: tuple[int, ...]) -> tuple[int, ...]:
    """Lay out `shape` densely with its dimensions in the order of `stride`; expanded dimensions stay expanded."""
    dense = [0] * len(shape)
    step = 1
    for axis in sorted(range(len(shape)), key=lambda axis: (stride[axis], -axis)):
        if stride[axis]:
            dense[axis] = step
            step *= max(shape[axis], 1)
    return tuple(dense)


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
