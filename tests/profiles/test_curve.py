"""Curves by windows are the curves of whole prefixes, for a CPU and for a GPU that is not here; all in a child."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest

from profiles.kernels.targets import TARGETS

SCRIPT = """
import json, logging, sys
from dataclasses import asdict, replace
logging.disable(logging.WARNING)
import torch
torch.set_num_threads(1)
from extract.model_tracing import TraceConfig, trace_model
from profiles.kernels.counting import GraphCounter
from profiles.kernels.curve import Curve, CurveConfig
from profiles.kernels.scheduler import planning_for
from profiles.kernels.targets import TARGETS

def curve(graph, target, is_exact):
    counts, asked = {}, 0
    counter = GraphCounter(graph, target, CurveConfig(is_exact))
    made = counter.advance(counts)
    while not isinstance(made, Curve):
        asked += len(made)
        counts |= counter.count(made)
        made = counter.advance(counts)
    return {**asdict(made), "asked": asked}

model, num_ops, targets = sys.argv[1], int(sys.argv[2]), sys.argv[3].split(",")
graph = trace_model(model, TraceConfig()).graph
from extract.cut import Cutter
graph = Cutter(graph).cut(0, min(num_ops, len(graph.nodes)), allow_mutation=True).graph
found = {}
for target in targets:
    with planning_for(TARGETS[target]):
        found[target] = [curve(graph, target, False), curve(graph, target, True)]
print(json.dumps({"cuda": torch.cuda.is_initialized(), "curves": found, "ops": list(graph.op_names)}))
"""


def curves_of(model: str, num_ops: int, *targets: str) -> dict[str, Any]:
    arguments = [sys.executable, "-c", SCRIPT, model, str(num_ops), ",".join(targets)]
    return json.loads(subprocess.run(arguments, check=True, capture_output=True, timeout=600).stdout)


@pytest.mark.parametrize(("model", "num_ops"), [("timm/resnet18", 20), ("timm/vit_tiny_patch16_224", 24)])
def test_windows_give_the_counts_of_whole_prefixes(model: str, num_ops: int) -> None:
    found = curves_of(model, num_ops, "cpu", "cuda:a30")
    assert not found["cuda"]
    for windows, exact in found["curves"].values():
        assert windows["kernels"] == exact["kernels"]
        assert exact["num_full"] == len(found["ops"])
        assert windows["num_full"] <= 3
        assert windows["num_wrong"] == 0
        steps = {boundary["position"]: boundary["step"] for boundary in windows["boundaries"]}
        pairs = zip([0, *exact["kernels"]], exact["kernels"], strict=False)
        assert steps == {at: after - before for at, (before, after) in enumerate(pairs, 1) if after > before}


def test_boundaries_say_why() -> None:
    found = curves_of("timm/vit_tiny_patch16_224", 24, "cuda:a30")
    ((windows, _),) = found["curves"].values()
    reasons = {boundary["op"]: boundary["reason"] for boundary in windows["boundaries"]}
    assert reasons["conv2d"] == reasons["linear"] == reasons["scaled_dot_product_attention"] == "extern_kernel"
    assert reasons["gelu"] == "extern_producer"
    details = {boundary["op"]: boundary["detail"] for boundary in windows["boundaries"]}
    assert "efficient_attention" in details["scaled_dot_product_attention"]


def test_every_described_gpu_has_the_properties_that_planning_reads() -> None:
    for name, target in TARGETS.items():
        assert (target.description is None) == (name == "cpu")
        if target.description is not None:
            assert target.device == "cuda:0"
            assert target.description.multi_processor_count > 50
            assert (target.description.major, target.description.minor) in {(8, 0), (9, 0)}
