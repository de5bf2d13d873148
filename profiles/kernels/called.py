"""The kernels that a compiled program calls on this CPU: `torch.compile` to the end, then its wrapper's text, counted.

Slow (g++ for seconds a program): the measure that `Plan.num_called` of `profiles.kernels.scheduler` is checked against.
"""

from __future__ import annotations

import ast
import contextlib
from collections.abc import Iterator
from unittest.mock import patch

import torch
from torch import fx
from torch._inductor import config
from torch._inductor.graph import GraphLowering
from torch._inductor.utils import run_and_get_code

from extract.fx import to_fx
from extract.graph import Graph
from extract.operands import operand_recipe

_SEED = 0
_LIBRARIES = ("extern_kernels.", "torch.ops.", "aten.", "inductor_ops.", "_quantized.")


def count_called(graph: Graph) -> int:
    """Compile a graph as users do, weights as parameters, run it once, and count the calls in its wrapper.

    Calls of C++ kernels and of libraries count (a view that a library makes, too); buffers, views and checks do not.
    Raises whatever torch raises for a program that it cannot compile or run.
    """
    return count_calls(wrapper_texts(*real_program(graph)))


def real_program(graph: Graph) -> tuple[fx.GraphModule, list[torch.Tensor]]:
    """Return a module that holds the graph's weights, and its inputs, all drawn by seed; raises as `to_fx` does."""
    drawn = list(zip(graph.tensors, operand_recipe(graph, _SEED).make(), strict=True))
    held = {
        meta.name: torch.nn.Parameter(tensor, tensor.is_floating_point()) if meta.kind == "parameter" else tensor
        for meta, tensor in drawn
    }
    return to_fx(graph, held), [tensor for meta, tensor in drawn if meta.kind == "input"]


def wrapper_texts(module: fx.GraphModule, inputs: list[torch.Tensor]) -> list[str]:
    """Return the wrappers that Inductor writes for a module under `no_grad`: one, or none where there is no work.

    The module is compiled whole and run once; raises whatever torch raises.
    """
    with torch.no_grad(), config.patch(force_disable_caches=True):
        return run_and_get_code(torch.compile(module, fullgraph=True, dynamic=False), *inputs)[1]


@contextlib.contextmanager
def noting_wrappers() -> Iterator[list[str]]:
    """Yield the list of wrappers that Inductor writes within; what was compiled before stays compiled."""
    wrappers: list[str] = []
    with patch.object(GraphLowering, "save_output_code", wrappers.append):
        yield wrappers


def count_calls(texts: list[str]) -> int:
    """Count the calls of kernels and libraries in wrappers; raises SyntaxError for what is not Python."""
    return sum(_count(ast.parse(text)) for text in texts)


def _count(wrapper: ast.Module) -> int:
    kernels = set(_kernel_names(wrapper))
    bodies = (node for node in ast.walk(wrapper) if isinstance(node, ast.FunctionDef) and _is_run(node.name))
    calls = (ast.unparse(node.func) for body in bodies for node in ast.walk(body) if isinstance(node, ast.Call))
    return sum(name in kernels or name.startswith(_LIBRARIES) for name in calls)


def _kernel_names(wrapper: ast.Module) -> Iterator[str]:
    """Yield the names that kernels compiled beside a wrapper are bound to."""
    for node in (node for node in wrapper.body if isinstance(node, ast.Assign)):
        made = node.value
        if isinstance(made, ast.Call) and ast.unparse(made.func).startswith("async_compile."):
            yield from (ast.unparse(target) for target in node.targets)


def _is_run(name: str) -> bool:
    return name == "call" or name.startswith("partition_")
