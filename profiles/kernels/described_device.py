"""A GPU that is not here, for as long as Inductor plans for it.

Patches what planning asks of a device (kernel-curve-facts.md section 2): its properties, whether Triton can be used,
and folding of uniform constants, which would run on the device. Only for a child process: the patches are global.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator
from typing import Any
from unittest.mock import patch

import torch
import torch._inductor.fx_passes.joint_graph as joint_graph
from torch._dynamo.device_interface import CudaInterface
from torch._inductor.runtime.hints import DeviceProperties
from torch.nn import functional as F
from torch.utils import _triton
from torch.utils._pytree import tree_map

from extract.spelling import resolve, spell_call
from profiles.kernels.attention import planned_attention
from profiles.kernels.targets import DeviceDescription

_BFLOAT16_CAPABILITY = (8, 0)
_ATTENTION = "torch.nn.functional.scaled_dot_product_attention"


@contextlib.contextmanager
def described_device(description: DeviceDescription) -> Iterator[None]:
    """Let torch believe in one GPU of this description, without a driver."""
    capability = (description.major, description.minor)
    # Names are looked up once a process: looked up first within, attention would be this GPU's for good, and on a CPU.
    spell_call(resolve(_ATTENTION), (), {})

    def properties(*_: Any, **__: Any) -> DeviceDescription:
        return description

    def version(*_: Any, **__: Any) -> tuple[int, int]:
        return capability

    patches: list[Any] = [
        patch.object(torch.cuda, "get_device_properties", properties),
        patch.object(torch.cuda, "get_device_capability", version),
        patch.object(torch.cuda, "current_device", lambda: 0),
        patch.object(CudaInterface, "get_device_properties", properties),
        patch.object(CudaInterface, "get_compute_capability", lambda *_: 10 * capability[0] + capability[1]),
        patch.object(CudaInterface, "current_device", lambda: 0),
        patch.object(CudaInterface, "is_bf16_supported", lambda *_, **__: capability >= _BFLOAT16_CAPABILITY),
        patch.object(torch.cuda, "is_bf16_supported", lambda *_, **__: capability >= _BFLOAT16_CAPABILITY),
        patch.object(CudaInterface.Worker, "get_device_properties", properties),
        patch.object(CudaInterface.Worker, "current_device", lambda: 0),
        patch.object(F, "scaled_dot_product_attention", planned_attention(capability)),
        *_everywhere(_triton.has_triton, lambda: True),
        *_folding_on_cpu(),
    ]
    DeviceProperties.create.cache_clear()
    try:
        with contextlib.ExitStack() as stack:
            for each in patches:
                stack.enter_context(each)
            yield
    finally:
        DeviceProperties.create.cache_clear()


def _everywhere(function: Callable[..., Any], stand_in: Callable[..., Any]) -> Iterator[Any]:
    """Yield a patch for each torch module that holds a function by its own name: it is imported by value."""
    name = function.__name__
    for module in list(sys.modules.values()):
        if module is not None and module.__name__.startswith("torch.") and vars(module).get(name) is function:
            yield patch.object(module, name, stand_in)


def _folding_on_cpu() -> Iterator[Any]:
    """Yield the patches that let uniform constants be folded on the CPU; the pass itself stays on."""
    folder = joint_graph.UniformValueConstantFolder
    fetch, deduce = folder.fetch_args_kwargs_from_env, folder._deduce_value

    def fetch_on_cpu(self: Any, node: Any) -> Any:
        args, kwargs = fetch(self, node)
        return tree_map(_on_cpu, (args, kwargs))

    def deduce_on_cpu(self: Any, node: Any) -> Any:
        if node.target is torch.ops.aten.full.default and len(node.args) == 2:
            (_, value), kwargs = self.fetch_args_kwargs_from_env(node)
            return torch.ops.aten.full.default([1], value, **kwargs)
        return deduce(self, node)

    yield patch.object(folder, "fetch_args_kwargs_from_env", fetch_on_cpu)
    yield patch.object(folder, "_deduce_value", deduce_on_cpu)


def _on_cpu(value: Any) -> Any:
    return torch.device("cpu") if isinstance(value, torch.device) and value.type == "cuda" else value
