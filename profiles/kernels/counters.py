"""The ways to count a program's kernels, by name: each takes a graph and a target's name, and loads torch only then.

`scheduler` counts nodes of Inductor's plan; `called`, calls of the compiled wrapper (this CPU); `profiler`, launches on
a real CUDA device. Counts of different counters are not the same quantity: compare their plateaus.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from extract.graph import Graph

Counter = Callable[[Graph, str], int]


def count_planned(graph: Graph, target: str) -> int:
    """Return the kernels of Inductor's plan for a target of `profiles.kernels.targets`; KeyError where it is none.

    Patches torch while it plans, so only for a child process; raises whatever torch raises.
    """
    from profiles.kernels.scheduler import plan, planning_for
    from profiles.kernels.targets import TARGETS

    with planning_for(TARGETS[target]):
        return len(plan(graph, TARGETS[target]).kernels)


def _count_called(graph: Graph, target: str) -> int:
    from profiles.kernels.called import count_called

    if target != "cpu":
        raise ValueError(f"the counter 'called' compiles for this CPU, not for {target}; use the target 'cpu'")
    return count_called(graph)


def _count_launched(graph: Graph, target: str) -> int:
    """Count on the machine's first CUDA device, whatever model the target names; `cuda:0` and the like name another."""
    from profiles.kernels.profiler import count_launched

    device, _, index = target.partition(":")
    if device != "cuda":
        raise ValueError(f"the counter 'profiler' needs a CUDA target, not {target}")
    return count_launched(graph, target if index.isdecimal() else "cuda:0")


COUNTERS: Mapping[str, Counter] = {
    "scheduler": count_planned,
    "called": _count_called,
    "profiler": _count_launched,
}
