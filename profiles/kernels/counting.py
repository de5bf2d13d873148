"""Counts for a curve, one program at a time: the child's side of `profiles.kernels.curve`."""

from __future__ import annotations

from collections.abc import Sequence, Set

import torch

from extract.cut import CutError, Cutter
from extract.graph import Graph
from profiles.kernels.boundaries import explain_boundary
from profiles.kernels.curve import ALGORITHM, Count, Counts, Curve, CurveConfig, CurveMaker
from profiles.kernels.layouts import optimised_strides, with_eager_strides
from profiles.kernels.scheduler import Plan, plan
from profiles.kernels.stored_values import plan_values
from profiles.kernels.targets import TARGETS
from profiles.kernels.window_program import cut_window
from profiles.kernels.windows import StoredValues, Window, lies_far_from_guesses

_DETAIL_CHARS = 300


class GraphCounter:
    """Plans the windows of one graph for one target; use within `planning_for(target)`."""

    def __init__(self, graph: Graph, target: str, config: CurveConfig) -> None:
        self._target = TARGETS[target]
        self._size = len(graph.nodes)
        graph = with_eager_strides(graph, self._target.device)
        self._cutter = Cutter(graph)
        context = f"{ALGORITHM}|{target}|{torch_version()}"
        optimised = optimised_strides(graph, self._target.device)
        is_at_risk = not config.is_exact and lies_far_from_guesses(graph, target, optimised)
        self._whole, stored = self._plan_whole() if is_at_risk else (None, None)
        self._maker = CurveMaker(graph, target, context, optimised, config, stored)

    @property
    def known_keys(self) -> Set[str]:
        """The keys that `count` can be asked for."""
        return self._maker.windows.keys()

    def advance(self, counts: Counts) -> tuple[str, ...] | Curve:
        """Return the keys that the curve still needs, or the curve."""
        return self._maker.advance(counts)

    def count(self, keys: Sequence[str]) -> dict[str, Count]:
        """Plan the windows of these keys, which `advance` returned."""
        return {key: self._count(self._maker.windows[key]) for key in keys}

    def _plan_whole(self) -> tuple[Plan | None, StoredValues | None]:
        """Plan the graph; None where it cannot be."""
        try:
            return plan_values(self._cutter.cut(0, self._size, allow_mutation=True).graph, self._target)
        except Exception:  # foreign code, as in `_count`, which then says why
            return None, None

    def _plan(self, window: Window) -> Plan:
        if self._whole is not None and window.end == len(window.ops) == self._size:
            return self._whole
        program, strides = cut_window(self._cutter, self._maker.keys, window)
        return plan(program, self._target, window.forced, None if window.is_prefix else strides)

    def _count(self, window: Window) -> Count:
        try:
            planned = self._plan(window)
            reason, detail, other = explain_boundary(planned, len(window.ops) - 1)
        except CutError as error:
            return Count(None, reason=error.reason, detail=error.detail)
        except Exception as error:  # foreign code: planning fails in as many ways as there are programs
            said = " ".join(f"{type(error).__name__}: {error}".split())
            return Count(None, reason="plan_failed", detail=said[:_DETAIL_CHARS])
        return Count(
            len(planned.kernels), planned.num_called, planned.num_aten, planned.layout_opt, reason, detail, other
        )


def torch_version() -> str:
    """Return torch's version without its build."""
    return torch.__version__.split("+")[0]
