"""A graph's tensor table to real tensors: seeded, strides as recorded, so scaled that activations are of order 1.

Where a record holds values, these; else values drawn by its statistics, or by its role where it has none (the table
of `extract.statistics`). Integers and bools that no statistics bound, and regions of interest, are drawn so that
whatever indexes by them stays legal (`extract.index_ranges`); unbounded integers are 0 or 1, bools True, integers named
as masks 1.

Role alone lets activations vanish or explode in deep nets without norms. One calibrating run therefore rescales
weights in order of use, where the product they enter leaves [1/4, 4] in root mean square (layer-sequential
unit-variance initialisation, Mishkin and Matas, 2015, with a band instead of exactly 1).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import torch

from extract.graph import Graph, Node, TensorMeta, TensorRef
from extract.index_ranges import IndexRange, index_ranges
from extract.replay import replay
from extract.statistics import role_moments

# Ops in which a weight scales the outcome linearly, up to its bias.
_LINEAR_OPS = frozenset(
    "linear conv1d conv2d conv3d conv_transpose1d conv_transpose2d conv_transpose3d matmul bmm mm addmm baddbmm einsum "
    "bilinear multi_head_attention_forward embedding".split()
)
_BAND = (0.25, 4.0)
# Names of parameters by which models scale whole branches (NFNet's gain, layer scale's gamma, ...): near zero, as the
# role of other parameters has it, they would silence what they scale.
_GAIN_WORDS = ("gain", "gamma", "scale", "temperature")
_SMALLEST_VARIANCE = 1e-3
_LEAST_POSITIVE = 0.5  # well away from 0, where roots, logarithms and quotients are steep


@dataclass(frozen=True, slots=True)
class OperandRecipe:
    """Makes the same operands each time: a run may write into them, so each run wants fresh ones.

    `scales` multiplies drawn tensors, by position in the tensor table; those with a sign (`extract.operand_signs`) are
    magnitudes + 1/2 of it, integers at least 1.
    """

    graph: Graph
    seed: int
    ranges: Mapping[int, IndexRange]
    scales: Mapping[int, float] = field(default_factory=dict[int, float])
    signs: Mapping[int, int] = field(default_factory=dict[int, int])

    def make(self) -> list[torch.Tensor]:
        """Return one tensor per entry of the graph's table; costs one draw per element."""
        generator = torch.Generator().manual_seed(self.seed)
        return [self._operand(index, meta, generator) for index, meta in enumerate(self.graph.tensors)]

    def _operand(self, index: int, meta: TensorMeta, generator: torch.Generator) -> torch.Tensor:
        dtype: torch.dtype = getattr(torch, meta.dtype)
        if meta.values is not None:
            return stored_operand(meta)
        num_spanned = 1 + sum((size - 1) * step for size, step in zip(meta.shape, meta.stride, strict=True))
        memory = _draw(num_spanned if math.prod(meta.shape) else 0, dtype, meta, self.ranges.get(index), generator)
        if index in self.signs:
            _make_signed(memory, self.signs[index])
        if index in self.scales:
            memory.mul_(self.scales[index])
        return memory.as_strided(meta.shape, meta.stride)


def operand_recipe(graph: Graph, seed: int) -> OperandRecipe:
    """Return the recipe of a graph's operands by record alone, nothing run."""
    return OperandRecipe(graph, seed, index_ranges(graph))


def meta_operands(tensors: Sequence[TensorMeta]) -> list[torch.Tensor]:
    """Return one valueless tensor per record, in its shape, stride and dtype."""
    return [
        torch.empty_strided(meta.shape, meta.stride, dtype=getattr(torch, meta.dtype), device="meta")
        for meta in tensors
    ]


def calibrate(recipe: OperandRecipe) -> OperandRecipe:
    """Run the graph once and return its recipe with weights rescaled; raises what torch raises.

    Only drawn floating weights of two or more dimensions are touched, each at its first use.
    """
    operands, scales = recipe.make(), dict[int, float]()
    seen: set[int] = set()

    def execute(index: int, run: Any) -> Any:
        returned = run()
        weight = _weight_of(recipe.graph, recipe.graph.nodes[index], seen)
        if weight is None:
            return returned
        scale = _rescaling(returned)
        if scale is None:
            return returned
        scales[weight] = scale
        operands[weight].mul_(scale)
        return run()

    torch.manual_seed(recipe.seed)
    with torch.no_grad():
        replay(recipe.graph, operands, execute=execute)
    return replace(recipe, scales={**recipe.scales, **scales})


def _weight_of(graph: Graph, node: Node, seen: set[int]) -> int | None:
    """Return the weight that a node is the first to use, if it may be rescaled."""
    refs = [ref.index for ref in node.refs() if isinstance(ref, TensorRef)]
    fresh = [index for index in refs if index not in seen]
    seen.update(refs)
    if node.op not in _LINEAR_OPS:
        return None
    for index in fresh:
        meta = graph.tensors[index]
        if meta.kind == "parameter" and len(meta.shape) > 1 and meta.values is None and "float" in meta.dtype:
            return index
    return None


def _rescaling(returned: Any) -> float | None:
    tensor = returned if isinstance(returned, torch.Tensor) else returned[0]
    if not tensor.is_floating_point() or not tensor.numel():
        return None
    size = float(tensor.float().square().mean().sqrt())
    is_usable = math.isfinite(size) and size > 0
    return 1.0 / size if is_usable and not _BAND[0] <= size <= _BAND[1] else None


def stored_operand(meta: TensorMeta) -> torch.Tensor:
    """Return the tensor whose values a record holds, in the recorded stride."""
    dtype: torch.dtype = getattr(torch, meta.dtype)
    values = torch.tensor(meta.values, dtype=dtype).reshape(meta.shape)
    operand = torch.empty_strided(meta.shape, meta.stride, dtype=dtype)
    own, given = operand, values
    for dim, step in enumerate(meta.stride):
        if step == 0 and meta.shape[dim]:  # expanded: one element stands for all
            own, given = own.narrow(dim, 0, 1), given.narrow(dim, 0, 1)
    own.copy_(given)
    return operand


def _make_signed(memory: torch.Tensor, sign: int) -> None:
    """Give all elements a sign, away from 0; unsigned integers can be positive alone."""
    is_signed = memory.dtype.is_signed
    if is_signed:
        memory.abs_()
    if memory.is_floating_point():
        memory.add_(_LEAST_POSITIVE)
    else:
        memory.clamp_(min=1)
    if is_signed and sign < 0:
        memory.neg_()


def _draw(
    count: int, dtype: torch.dtype, meta: TensorMeta, bounds: IndexRange | None, generator: torch.Generator
) -> torch.Tensor:
    if dtype.is_complex:
        return torch.randn(count, dtype=torch.complex64, generator=generator).to(dtype)
    if dtype.is_floating_point and bounds is None:
        return _draw_floats(count, meta, generator).to(dtype)
    low, high = _integer_bounds(meta, bounds)
    return torch.randint(low, high + 1, (count,), generator=generator).to(dtype)


def _draw_floats(count: int, meta: TensorMeta, generator: torch.Generator) -> torch.Tensor:
    mean, std, low, high = _moments(meta)
    drawn = torch.randn(count, generator=generator).mul_(std).add_(mean)
    if meta.original_name.endswith("running_var"):
        drawn.abs_().clamp_(min=_SMALLEST_VARIANCE)
    if low is not None and high is not None and low <= high:
        drawn.clamp_(low, high)
    return drawn


def _moments(meta: TensorMeta) -> tuple[float, float, float | None, float | None]:
    """Return mean, std, min and max to draw by: recorded ones where finite, else those of the role, else N(0, 1).

    Parameters that scale a branch, by their name, are drawn about 1 unless they were measured.
    """
    last = meta.original_name.rpartition(".")[2]
    if meta.kind == "parameter" and meta.stats_source != "values" and any(word in last for word in _GAIN_WORDS):
        return 1.0, 0.02, None, None
    if meta.mean is not None and math.isfinite(meta.mean):
        std = meta.std if meta.std is not None and math.isfinite(meta.std) else 0.0
        bounds = [bound if bound is not None and math.isfinite(bound) else None for bound in (meta.min, meta.max)]
        return meta.mean, std, bounds[0], bounds[1]
    return role_moments(meta) or (0.0, 1.0, None, None)


def _integer_bounds(meta: TensorMeta, bounds: IndexRange | None) -> tuple[int, int]:
    """Return inclusive bounds: measured ones, narrowed to what is legal; else legal ones; else those of the role."""
    low, high = (0, None) if bounds is None else (bounds.low, bounds.high)
    if high is not None and (low == high or meta.dtype.startswith(("float", "bfloat"))):
        return low, high
    if meta.min is not None and meta.max is not None and meta.min <= meta.max:
        least, most = int(meta.min), int(meta.max)
        return min(least, most if high is None else high), most if high is None else min(most, high)
    if meta.dtype == "bool":
        return (1, 1) if high is None or high >= 1 else (0, 0)
    if high is None:
        return (1, 1) if "mask" in meta.original_name else (low, low + 1)
    limit = torch.iinfo(getattr(torch, meta.dtype)).max
    return min(low, limit), min(high, limit)
