"""The kernels that a compiled program launches on a CUDA device, counted by torch's profiler on the device's side.

What peers count, but for the launch call: a kernel is an event of the device, however it was launched. One call of a
library may launch several kernels or none, so plateaus are comparable with a plan's, absolute counts are not.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import fx
from torch._C._autograd import DeviceType
from torch._inductor import config
from torch.profiler import ProfilerActivity, profile

from extract.graph import Graph
from extract.operands import operand_recipe
from profiles.kernels.program import module_of
from profiles.operand_pool import move_operands

_SEED = 0
_NUM_WARMUPS = 3  # the first call compiles; a library may choose its kernel in the second
_COPIES = ("Memcpy", "Memset")


@dataclass(frozen=True, slots=True)
class Launches:
    """Events on the device in one run: kernels, and copies or fills of memory, which are none."""

    num_kernels: int
    num_copies: int


def count_launched(graph: Graph, device: str = "cuda:0") -> int:
    """Return the kernels that one run of the compiled graph launches; raises as `measure_launches` does."""
    return measure_launches(graph, device).num_kernels


def measure_launches(graph: Graph, device: str = "cuda:0") -> Launches:
    """Compile a graph for a CUDA device, warm it up, and run it once under the profiler, on operands drawn by seed.

    Raises RuntimeError where there is no such device, and whatever torch raises for a program that does not run.
    """
    if not torch.cuda.is_available():
        raise RuntimeError(f"counting launches needs a CUDA device, and torch sees none (asked for {device})")
    module = module_of(graph, device)
    operands = move_operands(operand_recipe(graph, _SEED).make(), torch.device(device))
    return _profile(module, operands, device)


def _profile(module: fx.GraphModule, operands: list[torch.Tensor], device: str) -> Launches:
    with torch.no_grad(), config.patch(force_disable_caches=True):
        torch.compiler.reset()
        compiled = torch.compile(module, fullgraph=True, dynamic=False)
        for _ in range(_NUM_WARMUPS):
            compiled(*operands)
        return launches_of(lambda: compiled(*operands), device)


def launches_of(call: Callable[[], object], device: torch.device | str) -> Launches:
    """Return the events on a device in one call, which is made under the profiler; raises what it raises."""
    torch.cuda.synchronize(device)
    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as profiler:
        call()
        torch.cuda.synchronize(device)
    events = [event for event in profiler.events() or () if _is_on_device(event)]
    num_copies = sum(event.name.startswith(_COPIES) for event in events)
    return Launches(len(events) - num_copies, num_copies)


def _is_on_device(event: Any) -> bool:
    return event.device_type == DeviceType.CUDA and not event.is_user_annotation
