"""Counters of kernels: what is planned is what a compiled wrapper calls, and planning for a GPU leaves no trace."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
import torch
from torch.nn import functional as F

from extract.graph import Graph
from extract.spelling import _spelling_of, _spellings, resolve, spell_call
from extract.tracer import trace_module
from profiles.kernels.boundaries import explain_boundary
from profiles.kernels.called import count_called, count_calls
from profiles.kernels.counters import COUNTERS
from profiles.kernels.profiler import count_launched, measure_launches
from profiles.kernels.scheduler import Plan, PlannedKernel, plan, planning_for
from profiles.kernels.targets import TARGETS


class Net(torch.nn.Module):
    """Kernels of both sorts, neighbours that a CPU wrapper calls as one, an op that returns two tensors, an output
    that is a view."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = torch.nn.Conv2d(4, 8, 3, padding=1)
        self.norm = torch.nn.BatchNorm2d(8)
        self.head = torch.nn.Linear(8, 8)

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        y = torch.relu(self.norm(self.conv(x)))
        values, places = self.head(y.mean((2, 3))).topk(2)
        return values + 1, places * 2, y.sum(1).softmax(-1), y.flatten(1)


class Formula(torch.nn.Module):
    """A module whose forward is one function."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.function = function

    def forward(self, *args: torch.Tensor) -> Any:
        return self.function(*args)


def traced(module: torch.nn.Module, *args: torch.Tensor) -> Graph:
    return trace_module(module.eval(), args, subject="test").graph


def net() -> Graph:
    torch.manual_seed(0)
    return traced(Net(), torch.randn(2, 4, 8, 8))


def linear() -> Graph:
    return traced(torch.nn.Linear(8, 4), torch.randn(2, 8))


def attention(dtype: torch.dtype) -> Graph:
    query = torch.randn(1, 2, 16, 8, dtype=dtype)
    return traced(Formula(F.scaled_dot_product_attention), query, query + 1, query + 2)


def planned(graph: Graph, target: str) -> Plan:
    with planning_for(TARGETS[target]):
        return plan(graph, TARGETS[target])


def test_names_that_planning_for_a_gpu_looks_up_first_are_torchs_own_afterwards() -> None:
    graph = attention(torch.float32)
    resolve.cache_clear()
    _spelling_of.cache_clear()
    _spellings.cache_clear()
    planned(graph, "cuda:a30")
    (name,) = {node.target for node in graph.nodes if node.op == "scaled_dot_product_attention"}
    assert resolve(name) is F.scaled_dot_product_attention
    assert spell_call(F.scaled_dot_product_attention, (), {})[0] == name
    assert COUNTERS["scheduler"](graph, "cpu") == COUNTERS["called"](graph, "cpu")


def test_wrapper_calls_what_the_plan_says() -> None:
    graph = net()
    expected = planned(graph, "cpu")
    assert expected.num_called < len(expected.kernels)
    assert count_called(graph) == expected.num_called


def test_wrapper_of_library_calls_alone_calls_them() -> None:
    assert count_called(linear()) == planned(linear(), "cpu").num_called == 1


def test_wrapper_of_views_alone_calls_nothing() -> None:
    graph = traced(Formula(lambda x: x.view(4, 2).t()), torch.randn(8))
    assert count_called(graph) == planned(graph, "cpu").num_called == 0


def test_neighbours_are_called_as_one_unless_an_element_is_taken_between_them() -> None:
    kernels = tuple(PlannedKernel((op,), is_extern=op == 1) for op in range(5))
    assert Plan(kernels, False, ()).num_called == 3
    assert Plan(kernels, False, (), unpacked=frozenset({2, 3})).num_called == 4


def test_calls_are_told_from_buffers_views_and_checks() -> None:
    text = """
import torch
extern_kernels = object()
cpp_fused_add_0 = async_compile.cpp_pybind(['float*'], '''extern_kernels.mm(''')
class Runner:
    def call(self, args):
        assert_size_stride(args[0], (2, 2), (2, 1), 'input')
        buf0 = empty_strided_cpu((2, 2), (2, 1), torch.float32)
        cpp_fused_add_0(args[0], buf0)
        cpp_fused_add_0(buf0, buf0)
        extern_kernels.mm(reinterpret_tensor(buf0, (2, 2), (1, 2), 0), buf0, out=buf0)
        buf1 = torch.ops.aten.topk.default(buf0, 1)
        return buf1[0],
def get_args():
    return [torch.ops.aten.ones.default([2, 2])]
"""
    assert count_calls([text]) == 4
    assert count_calls([]) == 0


def test_every_counter_takes_a_graph_and_a_target() -> None:
    graph = linear()
    assert set(COUNTERS) == {"scheduler", "called", "profiler"}
    assert COUNTERS["scheduler"](graph, "cpu") == COUNTERS["called"](graph, "cpu") == 1
    assert COUNTERS["scheduler"](graph, "cuda:a30") == 1


def test_counters_refuse_targets_that_they_cannot_count_for() -> None:
    with pytest.raises(KeyError):
        COUNTERS["scheduler"](linear(), "cuda:none")
    with pytest.raises(ValueError, match="cuda:a30"):
        COUNTERS["called"](linear(), "cuda:a30")
    with pytest.raises(ValueError, match="cpu"):
        COUNTERS["profiler"](linear(), "cpu")


def test_naming_the_counters_does_not_load_torch() -> None:
    script = "import sys, profiles.kernels.counters; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0


@pytest.mark.skipif(torch.cuda.is_available(), reason="has a CUDA device")
def test_profiler_refuses_a_machine_without_a_device() -> None:
    with pytest.raises(RuntimeError, match="needs a CUDA device"):
        COUNTERS["profiler"](linear(), "cuda:a30")


@pytest.mark.gpu
def test_profiler_counts_launches_of_a_device() -> None:
    graph = traced(Formula(lambda x: (x.sin() + 1).sum(1)), torch.randn(64, 64))
    launches = measure_launches(graph)
    assert (launches.num_kernels, launches.num_copies) == (1, 0)
    assert count_launched(linear()) >= 1


@pytest.mark.parametrize(("dtype", "kernel"), [(torch.float32, "efficient"), (torch.bfloat16, "flash")])
def test_attention_is_planned_as_the_kernel_that_a_gpu_takes(dtype: torch.dtype, kernel: str) -> None:
    (only,) = planned(attention(dtype), "cuda:a30").kernels
    assert only.is_extern
    assert f"_scaled_dot_product_{kernel}_attention" in only.extern_name


def test_planning_for_a_gpu_changes_no_plan_for_the_cpu() -> None:
    graph = net()
    before = planned(graph, "cpu")
    assert planned(graph, "cuda:a30") != before
    assert planned(graph, "cpu") == before
    assert not torch.cuda.is_initialized()


def test_boundary_of_a_library_call_names_it() -> None:
    assert explain_boundary(planned(linear(), "cpu"), 0) == ("extern_kernel", "extern_kernels.addmm", None)


def test_boundary_between_kernels_that_no_one_spoke_of_is_the_backends() -> None:
    maker, reader = PlannedKernel((0, 1), False, ("op0",)), PlannedKernel((2,), False, ("op1",), ("op0",))
    reason, _, other = explain_boundary(Plan((maker, reader), False, ()), 2)
    assert (reason, other) == ("backend_refused", 1)
    reason, _, other = explain_boundary(Plan((maker, replace(reader, makers=())), False, ()), 2)
    assert (reason, other) == ("no_candidate", None)


def test_weights_are_planned_as_parameters_are_compiled() -> None:
    """`torch.matmul` folds a batch that is not contiguous only where the weight requires a gradient."""

    class Mixer(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.mix = torch.nn.Linear(16, 16, bias=False)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.mix(x.transpose(1, 2))

    graph = traced(Mixer(), torch.randn(2, 16, 12))
    assert [kernel.extern_name for kernel in planned(graph, "cpu").kernels if kernel.is_extern] == ["extern_kernels.mm"]
