"""A stored graph to its verdicts at level `real`: replayed on seeded real operands, whole and in pieces.

A graph is run five times (to calibrate its operands, whole, and three cuts), each time on fresh operands and from the
same random state, so that in-place and random ops do on both sides what they do on one. What a run would cost is
estimated beforehand: beyond the budget nothing is run, and the verdict is `not_applicable`, `over_budget`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch

from extract.budget import RealBudget
from extract.cost import estimate_cost
from extract.graph import Graph
from extract.operands import OperandRecipe, calibrate, operand_recipe
from extract.pieces import MIN_PIECE_OPS, choose_cuts, run_pieces
from extract.replay import replay
from extract.verdicts import (
    CheckFailed,
    Constraint,
    StoredGraph,
    judge,
    output_facts,
    recorded_facts,
    run_checked,
)

OVER_BUDGET = "over_budget"
NON_FINITE = "non_finite"


def check_budget(graph: Graph, budget: RealBudget) -> None:
    """Raise `CheckFailed`, not applicable, when a run of `graph` is estimated beyond the budget."""
    cost = estimate_cost(graph)
    if cost.peak_bytes > budget.max_bytes or cost.num_flop > budget.max_flop:
        detail = (
            f"a run takes about {cost.peak_bytes} bytes and {cost.num_flop:.4g} FLOP, "
            f"at most {budget.max_bytes} and {budget.max_flop:.4g} allowed"
        )
        raise CheckFailed(OVER_BUDGET, detail, "not_applicable")


def validate_on_real(stored: StoredGraph, budget: RealBudget) -> list[Constraint]:
    """Return the verdicts `runnable` and `decomposable` at level `real`; one graph's faults never raise."""
    runs = _Runs(stored, budget)
    return [
        judge("runnable", "real", lambda: _check_runnable(runs)),
        judge("decomposable", "real", lambda: _check_decomposable(runs)),
    ]


def same_bits(left: torch.Tensor, right: torch.Tensor) -> bool:
    """Tell whether two tensors are equal in shape, dtype and every bit (nan equals the same nan, 0.0 is not -0.0)."""
    if left.shape != right.shape or left.dtype != right.dtype:
        return False
    return torch.equal(_bits_of(left), _bits_of(right))


def _bits_of(tensor: torch.Tensor) -> torch.Tensor:
    flat = tensor.detach().resolve_conj().resolve_neg().contiguous().reshape(-1)
    if flat.numel() == 1:
        flat = flat.as_strided((1,), (1,))  # one element counts as contiguous whatever its stride, but not for a view
    return flat.view(torch.uint8)


@dataclass
class _Runs:
    """The runs of one graph that its checks share; the first failure stands for all that need it."""

    stored: StoredGraph
    budget: RealBudget
    _recipe: OperandRecipe | None = None
    _whole: list[torch.Tensor] = field(default_factory=list[torch.Tensor])
    _failure: CheckFailed | None = None

    @property
    def seed(self) -> int:
        return int(self.stored.hashes.signature_sha256[:8], 16)

    def whole(self) -> Sequence[torch.Tensor]:
        """Return the outputs of the whole graph on calibrated operands; raises `CheckFailed`."""
        if self._failure is not None:
            raise self._failure
        if not self._whole:
            try:
                check_budget(self.stored.graph, self.budget)
                self._whole = list(run_checked(self._calibrate_and_run))
            except CheckFailed as failure:
                self._failure = failure
                raise
        return self._whole

    def _calibrate_and_run(self) -> Sequence[torch.Tensor]:
        self._recipe = calibrate(operand_recipe(self.stored.graph, self.seed))
        return self.run(lambda operands: replay(self.stored.graph, operands))

    def run(self, run: Callable[[list[torch.Tensor]], Sequence[torch.Tensor]]) -> Sequence[torch.Tensor]:
        """Run on fresh operands, from the same random state each time."""
        recipe = self._recipe or operand_recipe(self.stored.graph, self.seed)
        operands = recipe.make()
        torch.manual_seed(self.seed)
        with torch.no_grad():
            return run(operands)

    def observe(self, execute: Callable[[int, Callable[[], Any]], Any]) -> None:
        """Run the whole once more, `execute` standing for each call."""
        self.run(lambda operands: replay(self.stored.graph, operands, execute=execute))


def _check_runnable(runs: _Runs) -> None:
    graph = runs.stored.graph
    outputs = runs.whole()
    made, recorded = output_facts(outputs), [recorded_facts(graph, ref) for ref in graph.outputs]
    if made != recorded:
        raise CheckFailed("outputs_differ", f"replay gives {made}, the record says {recorded}"[:500])
    bad = [position for position, output in enumerate(outputs) if not _is_finite(output)]
    if bad:
        raise CheckFailed(NON_FINITE, f"output {bad[0]} of {len(outputs)} holds nan or inf; {_first_non_finite(runs)}")


def _check_decomposable(runs: _Runs) -> None:
    graph = runs.stored.graph
    if len(graph.nodes) < 2 * MIN_PIECE_OPS:
        raise CheckFailed("too_few_ops", f"{len(graph.nodes)} ops make no two pieces", "not_applicable")
    whole = runs.whole()
    floats = [output for output in whole if output.is_floating_point() and output.numel()]
    if floats and not any(output.count_nonzero() for output in floats):
        detail = "every output is zero on seeded operands: equality would say nothing"
        raise CheckFailed("all_zero", detail, "not_applicable")
    for boundaries in choose_cuts(graph, runs.stored.hashes.signature_sha256):
        pieces = run_checked(lambda at=boundaries: runs.run(lambda operands: run_pieces(graph, at, operands)))
        if not all(map(same_bits, pieces, whole)):
            raise _difference(runs, boundaries, pieces)


def _difference(runs: _Runs, boundaries: tuple[int, ...], pieces: Sequence[torch.Tensor]) -> CheckFailed:
    """Say why pieces are not the whole: the whole may not even equal itself."""
    again = run_checked(lambda: runs.run(lambda operands: replay(runs.stored.graph, operands)))
    if not all(map(same_bits, again, runs.whole())):
        return CheckFailed("not_deterministic", "two runs of the whole differ in their bits")
    difference = largest_difference(runs.whole(), pieces)
    return CheckFailed("pieces_differ", f"cut at {boundaries}: outputs differ by {difference:.3g} of the largest")


def largest_difference(expected: Sequence[torch.Tensor], got: Sequence[torch.Tensor]) -> float:
    """Return the largest difference over the largest magnitude, nan equal to nan; 0.0 means the same bits.

    Infinite where numbers of outputs, shapes, dtypes or the places of nan differ.
    """
    if output_facts(expected) != output_facts(got):
        return float("inf")
    return max((_difference_of(*pair) for pair in zip(expected, got, strict=True)), default=0.0)


def _difference_of(left: torch.Tensor, right: torch.Tensor) -> float:
    if same_bits(left, right):
        return 0.0
    if not torch.equal(left.isnan(), right.isnan()):
        return float("inf")
    wide = torch.complex128 if left.is_complex() else torch.float64
    wide_left, wide_right = left.to(wide).nan_to_num(), right.to(wide).nan_to_num()
    scale = max(float(wide_left.abs().max()), 1e-30)
    return max(float((wide_left - wide_right).abs().max()) / scale, 1e-30)


def _is_finite(value: Any) -> bool:
    if not isinstance(value, torch.Tensor) or not (value.is_floating_point() or value.is_complex()):
        return True
    return bool(value.isfinite().all())


def _first_non_finite(runs: _Runs) -> str:
    """Name the op that first returns a value that is not finite."""
    found: list[int] = []

    def watch(index: int, run: Callable[[], Any]) -> Any:
        returned = run()
        parts = returned if isinstance(returned, tuple | list) else (returned,)
        if not found and not all(map(_is_finite, parts)):
            found.append(index)
        return returned

    runs.observe(watch)
    return f"op {found[0]} ({runs.stored.graph.nodes[found[0]].op}) is the first" if found else "an operand does"
