"""A rendered instance to its outputs: seeded operands, legal and scaled so that outputs are finite, and one real run.

Operands are drawn in float32 and cast down, so that the dtypes of one instance take the same values. Whatever is
decided by running or looking at values (weights rescaled by a calibrating run, `extract.operands`; inputs shrunk where
values would leave the range in which half precision computes well) is decided on the instance's float32 twin: dtypes of
one instance share it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

import torch

from extract.graph import Arg, ArgList, ArgSlice, Graph, Node, OpRef, TensorMeta, TensorRef, TorchConstant
from extract.operand_signs import operand_signs
from extract.operands import OperandRecipe, calibrate, operand_recipe
from extract.recorded_outputs import record_outputs
from extract.replay import replay
from profiles.value_choices import FollowChoices, RecordChoices

MAX_DISAGREEMENT: Final = 8.0
"""In units of epsilon. Of 310 random cuts of 4 to 62 ops in 38 models, half were within 0.8, 99 in 100 within 2."""

_MAX_SHRINKS: Final = 4
_SHRINK: Final = 0.25
_MAX_VALUE: Final = 8192.0  # an eighth of float16's range, which leaves room for sums
_MAX_EXPONENT: Final = 8.0  # e**8 is 3,000; half precision keeps an exponent of 8 to 1/256 (float16) or 1/32 (bfloat16)
_MASKED: Final = -1000.0  # what is below stands for minus infinity: the lowest value of some dtype, -10000, ...
_EXPONENTIALS: Final = frozenset("exp expm1 softmax log_softmax logsumexp".split())
_HALVES: Final = frozenset({"float16", "bfloat16"})


def run_instance(graph: Graph, seed: int, recipe: OperandRecipe | None = None) -> tuple[torch.Tensor, ...]:
    """Return the outputs of an instance's graph on the CPU, in its dtype.

    `recipe` is `instance_recipe` of the graph or of the same instance in another dtype; made anew where not given.
    Raises what torch raises, and `extract.spelling.UnknownCallable`.
    """
    operands = make_operands(graph, recipe or instance_recipe(graph, seed))
    torch.manual_seed(seed)
    return replay(graph, operands)


def run_in_dtypes(graphs: Mapping[str, Graph], seed: int, recipe: OperandRecipe) -> dict[str, tuple[torch.Tensor, ...]]:
    """Return the outputs of one instance in each dtype, by dtype; `graphs` has float32, whose picks others follow.

    `recipe` is `instance_recipe` of one of them. Raises as `run_instance`.
    """
    with RecordChoices() as recorded:
        outputs = {"float32": run_instance(graphs["float32"], seed, recipe)}
    for dtype in graphs.keys() - outputs.keys():
        with FollowChoices(recorded.indices, MAX_DISAGREEMENT):
            outputs[dtype] = run_instance(graphs[dtype], seed, recipe)
    return outputs


def instance_recipe(graph: Graph, seed: int) -> OperandRecipe:
    """Return how to draw the operands of an instance's graph, in float32; runs the graph in float32, twice or more."""
    twin = record_outputs(float32_twin(graph))
    drawn = operand_recipe(twin, seed)
    bounded = {index for index, bounds in drawn.ranges.items() if bounds.high is not None}
    drawn = replace(drawn, signs={at: sign for at, sign in operand_signs(twin).items() if at not in bounded})
    inputs = [index for index, meta in enumerate(twin.tensors) if meta.kind == "input" and meta.dtype == "float32"]
    recipe = calibrate(drawn)
    for attempt in range(1, _MAX_SHRINKS + 1):
        if _is_tame(recipe):
            break
        scales = {index: _SHRINK**attempt for index in inputs if index not in drawn.signs}
        recipe = calibrate(replace(drawn, scales=scales))
    return recipe


def make_operands(graph: Graph, recipe: OperandRecipe) -> list[torch.Tensor]:
    """Return one tensor per entry of the graph's table, drawn by `recipe` and cast to the dtype that it has there."""
    return [_cast(tensor, meta) for tensor, meta in zip(recipe.make(), graph.tensors, strict=True)]


def disagreement(expected: Sequence[torch.Tensor], outputs: Sequence[torch.Tensor], dtype: str) -> float:
    """Return how far outputs in `dtype` are from those in float32, in units of the dtype's epsilon.

    That is the largest difference over the largest magnitude, output by output. Values beyond half of the dtype's range
    (a mask's lowest value is each dtype's own) must only be there on both sides. Infinite where shapes, integers or
    those places differ, or where one side is not finite.
    """
    limits = torch.finfo(getattr(torch, dtype))
    if len(expected) != len(outputs):
        return math.inf
    return (
        max((_distance(*pair, limits.max / 2) for pair in zip(expected, outputs, strict=True)), default=0.0)
        / limits.eps
    )


def float32_twin(graph: Graph) -> Graph:
    """Return the graph with float32 in the place of float16 and bfloat16, in what its calls record too."""
    tensors = tuple([replace(meta, dtype=_wide(meta.dtype)) for meta in graph.tensors])
    nodes = tuple([_widen_call(node) for node in graph.nodes])
    return Graph(nodes, tensors, graph.outputs)


def _is_tame(recipe: OperandRecipe) -> bool:
    """Tell whether a run of the float32 twin stays within `_MAX_VALUE`, and its exponents within `_MAX_EXPONENT`."""
    graph, operands = recipe.graph, recipe.make()
    exponents = {next(node.refs(), None) for node in graph.nodes if node.op.rstrip("_") in _EXPONENTIALS}
    largest = [_largest(tensor) for index, tensor in enumerate(operands) if TensorRef(index) in exponents]
    is_tame = all(size <= _MAX_EXPONENT for size in largest)

    def execute(index: int, run: Callable[[], Any]) -> Any:
        nonlocal is_tame
        returned = run()
        most = _MAX_EXPONENT if OpRef(index) in exponents else _MAX_VALUE
        parts = returned if isinstance(returned, tuple | list) else (returned,)
        is_tame = is_tame and all(_largest(part) <= most for part in parts)
        return returned

    torch.manual_seed(recipe.seed)
    replay(graph, operands, execute=execute)
    return is_tame


def _largest(value: Any) -> float:
    """Return the largest magnitude of a floating-point tensor's values that are not masked; nan counts as infinite."""
    if not isinstance(value, torch.Tensor) or not value.is_floating_point() or not value.numel():
        return 0.0
    kept = value.detach().nan_to_num(math.inf, math.inf, -math.inf)
    return float(torch.where(kept < _MASKED, 0.0, kept.abs()).max())


def _distance(expected: torch.Tensor, got: torch.Tensor, most: float) -> float:
    if expected.shape != got.shape or expected.is_floating_point() != got.is_floating_point():
        return math.inf
    if not expected.is_floating_point() and not expected.is_complex():
        return 0.0 if torch.equal(expected, got) else math.inf
    wide = torch.complex128 if expected.is_complex() else torch.float64
    left, right = expected.to(wide), got.to(wide)
    beyond = left.abs() > most
    if not (left.isfinite().all() and right.isfinite().all() and torch.equal(beyond, right.abs() > most)):
        return math.inf
    gaps, sizes = (left - right).abs()[~beyond], left.abs()[~beyond]
    return float(gaps.max() / sizes.max().clamp_min(1e-30)) if gaps.numel() else 0.0


def _cast(tensor: torch.Tensor, meta: TensorMeta) -> torch.Tensor:
    dtype: torch.dtype = getattr(torch, meta.dtype)
    if tensor.dtype == dtype:
        return tensor
    if tensor.shape != meta.shape:
        raise ValueError(f"{meta.name}: the recipe draws {tuple(tensor.shape)}, the instance takes {meta.shape}")
    num_spanned = 1 + sum((size - 1) * step for size, step in zip(tensor.shape, tensor.stride(), strict=True))
    memory = tensor.as_strided((num_spanned if tensor.numel() else 0,), (1,)).to(dtype)
    return memory.as_strided(tensor.shape, tensor.stride())


def _widen_call(node: Node) -> Node:
    target = _WIDE_TARGETS.get(node.target, node.target)
    args = tuple([_widen(arg) for arg in node.args])
    kwargs = tuple([(name, _widen(arg)) for name, arg in node.kwargs])
    outputs = tuple([replace(meta, dtype=_wide(meta.dtype)) for meta in node.outputs])
    return Node(node.op, target, args, kwargs, outputs)


_WIDE_TARGETS: Final = {"torch.Tensor.half": "torch.Tensor.float", "torch.Tensor.bfloat16": "torch.Tensor.float"}


def _widen(arg: Arg) -> Arg:
    if isinstance(arg, TorchConstant):
        return TorchConstant("dtype", _wide(arg.name)) if arg.kind == "dtype" else arg
    if isinstance(arg, ArgList):
        return ArgList(tuple([_widen(element) for element in arg.elements]))
    if isinstance(arg, ArgSlice):
        return ArgSlice(_widen(arg.start), _widen(arg.stop), _widen(arg.step))
    return tuple([_widen(element) for element in arg]) if isinstance(arg, tuple) else arg


def _wide(dtype: str) -> str:
    return "float32" if dtype in _HALVES else dtype
