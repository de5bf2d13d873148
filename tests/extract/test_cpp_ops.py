"""Ops and functions of a C++ extension, for which there is no Python source (compiles for about a minute)."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from extract.custom_ops import collect_custom_ops
from extract.failure import Reason, SubjectError
from extract.hashing import hash_graph
from extract.literals import arguments_json
from extract.text import render
from extract.tracer import trace_module
from extract.validation import StoredGraph, validate

pytestmark = pytest.mark.slow

SOURCE = r"""
#include <ATen/ATen.h>
#include <torch/csrc/utils/pybind.h>
#include <torch/library.h>
at::Tensor twice(const at::Tensor& x) { return x + x; }
at::Tensor twice_meta(const at::Tensor& x) { return at::empty_like(x); }
at::Tensor dispatched(const at::Tensor& x) { return x * 3; }
void dispatched_(at::Tensor x) { x.mul_(3); }
at::Tensor raw(const at::Tensor& x) {
  auto out = at::empty(x.sizes(), at::kFloat);
  for (int64_t i = 0; i < x.numel(); ++i) out.data_ptr<float>()[i] = 3 * x.data_ptr<float>()[i];
  return out;
}
TORCH_LIBRARY(passnet_cpp, m) { m.def("twice(Tensor x) -> Tensor"); }
TORCH_LIBRARY_IMPL(passnet_cpp, CPU, m) { m.impl("twice", twice); }
TORCH_LIBRARY_IMPL(passnet_cpp, Meta, m) { m.impl("twice", twice_meta); }
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  m.def("dispatched", &dispatched);
  m.def("dispatched_", &dispatched_);
  m.def("raw", &raw);
}
"""


@pytest.fixture(scope="session")
def extension(tmp_path_factory: pytest.TempPathFactory) -> Any:
    from torch.utils.cpp_extension import load_inline

    folder = str(tmp_path_factory.mktemp("cpp"))
    flags = ["-O0"]
    return load_inline("passnet_cpp", SOURCE, no_implicit_headers=True, extra_cflags=flags, build_directory=folder)


def test_an_op_without_source_is_recorded_and_not_accessible(extension: Any, check: Any) -> None:
    graph = check(lambda m, x: torch.ops.passnet_cpp.twice(x) + 1, torch.randn(2, 4)).graph
    assert graph.op_names == ("passnet_cpp.twice", "add")
    (op,) = collect_custom_ops(graph)
    assert (op.schema, op.source) == ("passnet_cpp::twice(Tensor x) -> Tensor", None)
    calls = tuple((node.op, node.target, arguments_json(node)) for node in graph.nodes)
    stored = replace(StoredGraph(graph, render(graph), calls, hash_graph(graph)), custom_ops=(op,))
    verdicts = {verdict.constraint: verdict for verdict in validate(stored, "fake")}
    assert verdicts["custom_op_accessible"].reason == "source_unavailable"
    assert verdicts["runnable"].outcome == "passed"


@pytest.mark.parametrize("mode", ["meta", "cpu"])
@pytest.mark.parametrize("name", ["dispatched", "dispatched_", "raw"])
def test_a_function_past_the_dispatcher_is_never_a_constant(extension: Any, name: str, mode: str) -> None:
    class Calls(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            y = x * 1
            made = getattr(extension, name)(y)
            return y + 1 if made is None else made + 1

    with pytest.raises(SubjectError) as error:
        trace_module(Calls(), (torch.ones(2, 4, device=mode),), subject="s")
    is_refused_by_kernel = (name, mode) == ("raw", "meta")  # it reads memory that meta tensors lack
    assert error.value.reason is (Reason.FORWARD_FAILED if is_refused_by_kernel else Reason.UNTRACKED_TENSOR)


def test_the_extension_was_built_in_a_private_folder(extension: Any) -> None:
    assert "cpp" in Path(extension.__file__).parent.name
