"""An instance's program to whether it makes a task: run on several draws of operands, beside submissions of nothing.

Operands are those of `profiles.instance_run`, drawn by seed plus draw; how large they are made is found on the first
draw, by three runs in float32 or more, and kept. On the first draw the program runs twice on equal
operands, and on the others too where a call may be to blame for a difference (random numbers, memory that nobody wrote,
custom ops): half precision takes seconds on a CPU. Random numbers of torch go on between the two runs, so that a
program that draws some differs from itself. Memory that it asks for and does not write (`torch.empty`) holds 0 in the
first run and 1 in the second: it differs always. What it writes into counts as operand as it was before.

Products of float16 are summed in float32 (`extract.wide_products`). Tensors without elements are no outputs here: any
submission passes for them. Call it in a process that may die.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from typing import Any, Final

import torch
from torch.overrides import TorchFunctionMode

from extract.canonical import is_random, written_operands
from extract.custom_schemas import is_custom
from extract.failure import describe, is_starved
from extract.graph import Graph, Node
from extract.operands import OperandRecipe
from extract.replay import replay
from extract.wide_products import WideProducts
from passbench.instance_check import NUM_DRAWS, Degenerate, InstanceCheck, null_reason
from passbench.null_submissions import NullLevels, sample
from profiles.comparison import compare, has_nan
from profiles.instance_run import instance_recipe, make_operands
from profiles.operand_pool import copy_operands

_UNWRITTEN: Final = frozenset("empty empty_like empty_permuted empty_strided new_empty new_empty_strided".split())

Outputs = list[torch.Tensor]


def check_instance(graph: Graph, seed: int, num_draws: int = NUM_DRAWS) -> InstanceCheck:
    """Run an instance's program on the CPU and say whether it makes a task, by seed; the same at each call.

    `num_draws` is 2 at least: outputs that do not depend on operands show in no single draw. What the program
    raises is a reason.
    """
    if num_draws < 2:
        raise ValueError(f"{num_draws} draws do not show what is constant: 2 at least")
    try:
        draws = _Draws(graph)
        for draw in range(num_draws):
            draws.run(seed + draw)
        return draws.verdict()
    except Exception as error:  # foreign code
        return InstanceCheck(Degenerate.OUT_OF_MEMORY if is_starved(error) else Degenerate.RAISES, describe(error))


class _Draws:
    """What the draws of one program add up to."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._levels = NullLevels()
        self._found: dict[Degenerate, str | None] = {}
        self._num_drawn = 0
        self._first: Outputs = []
        self._recipe: OperandRecipe | None = None
        self._is_constant = True
        self._is_idle = not any(written_operands(node) for node in graph.nodes)
        self._leaves_unwritten = any(node.op in _UNWRITTEN for node in graph.nodes)
        self._has_float16 = any(tensor.dtype == "float16" for tensor in graph.tensors)
        self._may_differ = any(map(_may_differ, graph.nodes))

    def run(self, seed: int) -> None:
        """Draw operands and run the program on them, twice where that may show something."""
        with self._computing(0):
            self._recipe = replace(self._recipe or instance_recipe(self._graph, seed), seed=seed)
            operands = make_operands(self._graph, self._recipe)
        torch.manual_seed(seed)  # pyright: ignore[reportUnknownMemberType]
        taken = copy_operands(operands)
        outputs = self._outputs(taken, 0)
        self._is_idle = self._is_idle and _is_memory_of(outputs, taken)
        if self._may_differ or not self._num_drawn:
            self._compare_again(outputs, self._outputs(copy_operands(operands), 1))
        with torch.no_grad():
            self._look(outputs)
            if outputs:
                self._levels.add(outputs, operands)
        self._num_drawn += 1

    def verdict(self) -> InstanceCheck:
        """Return what was found, by the first reason that holds."""
        levels = self._levels
        four = levels.zeros, levels.ones, levels.mean, levels.identity
        if self._is_idle:
            self._found.setdefault(Degenerate.LAUNCHES_NOTHING, None)
        if self._is_constant:
            self._found.setdefault(Degenerate.CONSTANT, None)
        reason = next((reason for reason in Degenerate if reason in self._found), None)
        return InstanceCheck(reason or null_reason(*four), reason and self._found[reason], *four)

    def _outputs(self, operands: Sequence[torch.Tensor], unwritten: int) -> Outputs:
        with self._computing(unwritten):
            return [output for output in replay(self._graph, operands) if output.numel()]

    def _computing(self, unwritten: int) -> ExitStack:
        """Return what a run takes place in: memory that the program does not write is filled, where it asks for some;
        products of float16 are float32's."""
        modes = ExitStack()
        if self._leaves_unwritten:
            modes.enter_context(_FillUnwritten(unwritten))
        if self._has_float16:
            modes.enter_context(WideProducts())
        return modes

    def _compare_again(self, outputs: Outputs, again: Outputs) -> None:
        if not compare(outputs, again).bitwise_equal:
            self._found.setdefault(Degenerate.NON_DETERMINISTIC, f"draw {self._num_drawn}")

    def _look(self, outputs: Outputs) -> None:
        """Note what is wrong with the outputs of a draw by themselves."""
        if not outputs:
            self._found.setdefault(Degenerate.NO_OUTPUT, None)
        for position, output in enumerate(outputs):
            said = _not_finite(output)
            if said:
                self._found.setdefault(Degenerate.NOT_FINITE, f"draw {self._num_drawn}, output {position}: {said}")
        if not self._num_drawn:
            self._first = outputs
        elif self._is_constant:
            self._is_constant = _is_same(self._first, outputs)
        if not self._is_constant:
            self._first = []


class _FillUnwritten(TorchFunctionMode):
    """Fills the memory that calls return as it is, wherever it comes from, with one value."""

    def __init__(self, value: int) -> None:
        super().__init__()
        self._value = value

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        returned = func(*args, **(kwargs or {}))
        return returned.fill_(self._value) if getattr(func, "__name__", "") in _UNWRITTEN else returned


def _may_differ(node: Node) -> bool:
    """Tell whether a call may return something else on equal operands."""
    return is_random(node) or node.op in _UNWRITTEN or is_custom(node.target)


def _is_memory_of(outputs: Outputs, operands: Sequence[torch.Tensor]) -> bool:
    """Tell whether each output shows memory of an operand."""
    places = {operand.untyped_storage().data_ptr() for operand in operands}
    return all(output.untyped_storage().data_ptr() in places for output in outputs)


def _not_finite(output: torch.Tensor) -> str | None:
    """Say what makes an output no finite one; infinities beside finite values are what masks are made of."""
    if not output.is_floating_point() and not output.is_complex():
        return None
    if has_nan(output):
        return "nan"
    wide = output.float() if output.itemsize == 1 else output
    return None if wide.isfinite().any() else "no finite value"


def _is_same(first: Outputs, outputs: Outputs) -> bool:
    return bool(
        compare([*map(sample, first)], [*map(sample, outputs)]).bitwise_equal and compare(first, outputs).bitwise_equal
    )
