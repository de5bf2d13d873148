"""The upstream method: `torch.compile` with a backend that keeps the graph, over real weights and a real forward.

The backend receives each graph module with its example inputs and returns it as it is, so that the model then runs
eagerly; nothing is compiled further. Statistics are those of the real weights. No gradients, batch of one, torch's
own number of threads, Dynamo's caches dropped between models (kept, they would only grow).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from benchmarks.model_list import build_plainly
from benchmarks.peers.captured import Captured
from benchmarks.stopwatch import Stopwatch


def capture(name: str, stopwatch: Stopwatch) -> list[Captured]:
    """Return the graphs that Dynamo made of one model, in the order in which they ran (several after breaks)."""
    graphs: list[tuple[torch.fx.GraphModule, list[Any]]] = []

    def keep(module: torch.fx.GraphModule, example_inputs: list[Any]) -> Callable[..., Any]:
        graphs.append((module, list(example_inputs)))
        return module.forward

    with stopwatch.stage("build"):
        model, inputs = build_plainly(name)
    with stopwatch.stage("trace"), torch.no_grad():
        torch._dynamo.reset()
        torch.compile(model, backend=keep, dynamic=True)(**inputs)
    return [Captured(module, operands) for module, operands in graphs]
