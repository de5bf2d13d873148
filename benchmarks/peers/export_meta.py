"""torch.export on meta tensors: as few bytes as ours, but by symbolic interpretation, and down to ATen operators."""

from __future__ import annotations

import torch

from benchmarks.model_list import build_plainly
from benchmarks.peers.captured import Captured
from benchmarks.stopwatch import Stopwatch


def capture(name: str, stopwatch: Stopwatch) -> list[Captured]:
    """Return the one graph of the exported program, its operands in the order of the graph's placeholders."""
    with stopwatch.stage("build"):
        with torch.device("meta"):
            model, real = build_plainly(name)
        inputs = {argument: tensor.to("meta") for argument, tensor in real.items()}
    with stopwatch.stage("trace"), torch.no_grad():
        program = torch.export.export(model, (), inputs)
        held = {**program.state_dict, **program.constants}
        given = iter(inputs.values())
        specs = program.graph_signature.input_specs
        operands = [held[spec.target] if spec.target else next(given) for spec in specs]
    return [Captured(program.graph_module, operands)]
