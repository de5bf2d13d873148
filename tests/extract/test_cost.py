"""Estimated costs: FLOP as torch's own counter gives them, peak bytes not below what the liveness of values needs."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from extract.cost import estimate_cost
from extract.model_tracing import trace_model
from extract.operands import operand_recipe
from extract.replay import replay
from extract.tracer import trace_module
from tests.extract.conftest import Program

ROOT = Path(__file__).parents[2]
MEASURE = """
import ctypes, pathlib, sys, torch
torch.set_num_threads(1)
from extract.model_tracing import trace_model
from extract.operands import operand_recipe
from extract.cost import estimate_cost
from extract.replay import replay
graph = trace_model(sys.argv[1]).graph
replay(graph, operand_recipe(graph, 0).make())  # what torch keeps after a first run is no part of the difference,
ctypes.CDLL(None).malloc_trim(0)  # nor is what malloc kept of it a part of what is held now
status, reset = pathlib.Path("/proc/self/status"), pathlib.Path("/proc/self/clear_refs")
reset.write_text("5")  # the peak starts anew at what is held now (proc(5))
held = lambda: int(status.read_text().split("VmHWM:")[1].split()[0])
before = held()
replay(graph, operand_recipe(graph, 0).make())
print(1024 * (held() - before), estimate_cost(graph).peak_bytes)
"""


@pytest.mark.parametrize("name", ["resnet18", "test_vit", "test_convnext", "xcit_nano_12_p8_224", "test_mambaout"])
def test_flop_are_those_of_torchs_counter_and_a_little_for_elementwise_ops(name: str) -> None:
    graph = trace_model(f"timm/{name}").graph
    operands = operand_recipe(graph, 0).make()
    with FlopCounterMode(display=False) as counter:
        replay(graph, operands)
    counted = counter.get_total_flops()
    assert counted <= estimate_cost(graph).num_flop <= 1.35 * counted


def flop_of(body: object, *inputs: torch.Tensor) -> float:
    graph = trace_module(Program(body).to("meta"), tuple(x.to("meta") for x in inputs), subject="test").graph  # pyright: ignore
    return estimate_cost(graph).num_flop


def test_products_count_two_per_multiply_add() -> None:
    left, right = torch.ones(5, 2, 3), torch.ones(5, 3, 4)
    expected = 2 * 5 * 2 * 3 * 4
    assert flop_of(lambda m, a, b: a @ b, left, right) == expected
    assert flop_of(lambda m, a, b: torch.einsum("bik,bkj->bij", a, b), left, right) == expected
    assert flop_of(lambda m, a, b: torch.einsum("...ik,...kj", a, b), left, right) == expected
    filters = torch.ones(6, 2, 3, 3)
    image = torch.ones(1, 4, 8, 8)
    grouped = flop_of(lambda m, x, w: torch.nn.functional.conv2d(x, w, groups=2, padding=1), image, filters)
    assert grouped == 2 * 6 * 64 * 2 * 9
    transposed = flop_of(lambda m, x, w: torch.nn.functional.conv_transpose2d(x, w), image, torch.ones(4, 2, 3, 3))
    assert transposed == 2 * 4 * 64 * 2 * 9 + 2 * 100
    assert flop_of(lambda m, x: x.view(-1).unsqueeze(0), torch.ones(4)) == 0


def test_peak_counts_live_values_and_no_views() -> None:
    def body(module: torch.nn.Module, x: torch.Tensor) -> torch.Tensor:
        first = torch.relu(x)  # 4000 bytes, beside 4000 of x
        second = torch.relu(first.view(-1).unsqueeze(0))  # and 4000, then first is let go
        return torch.relu(second)

    graph = trace_module(Program(body).to("meta"), (torch.empty(1000, device="meta"),), subject="test").graph
    cost = estimate_cost(graph)
    assert (cost.operand_bytes, cost.peak_bytes) == (4000, 12000)


@pytest.mark.parametrize("name", ["timm/vgg11", "timm/resnet50", "timm/vit_small_patch16_224"])
def test_peak_bytes_are_of_the_order_of_what_a_run_takes(name: str) -> None:
    command = [sys.executable, "-c", MEASURE, name]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    taken, estimated = map(int, run.stdout.split())
    assert 0.9 * taken <= estimated <= 4 * taken
