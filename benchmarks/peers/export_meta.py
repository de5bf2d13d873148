"""torch.export on meta tensors: as few bytes as ours, but by symbolic interpretation, and down to ATen operators."""

from __future__ import annotations

import timm
import torch

from benchmarks.model_list import input_shape
from benchmarks.peers.captured import Captured
from benchmarks.stopwatch import Stopwatch


def capture(name: str, stopwatch: Stopwatch) -> list[Captured]:
    """Return the one graph of the exported program, its operands in the order of the graph's placeholders."""
    with stopwatch.stage("build"), torch.device("meta"):
        model = timm.create_model(name).eval()
        inputs = torch.empty(input_shape(name))
    with stopwatch.stage("trace"), torch.no_grad():
        program = torch.export.export(model, (inputs,))
        held = {**program.state_dict, **program.constants}
        operands = [held[spec.target] if spec.target else inputs for spec in program.graph_signature.input_specs]
    return [Captured(program.graph_module, operands)]
