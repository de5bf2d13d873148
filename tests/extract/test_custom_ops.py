"""Ops from outside torch: recorded as one node, stored with their source, judged, and never a way into the process."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
import torchvision.ops

from extract.canonical import has_effect, mutated_operands, written_operands
from extract.custom_op_registration import LIMITS, NotRegistered, register_alone
from extract.custom_ops import CustomOp, collect_custom_ops, custom_targets, forbidden_import
from extract.custom_schemas import declare_schema, effects_of
from extract.cut import CutError, cut
from extract.failure import Reason, SubjectError
from extract.graph import Node, OpRef, TensorRef
from extract.hashing import hash_graph
from extract.licence import find_licence
from extract.replay import replay
from extract.sample import graph_from_files, sample_files
from extract.sandbox import Sandbox
from extract.spelling import UnknownCallable, resolve
from extract.text import parse, render
from extract.tracer import trace_module
from storage.records import tables_from_bytes
from tests.custom_ops import library_ops, python_ops, triton_ops

ROOT = Path(__file__).parents[2]


@pytest.fixture
def x() -> torch.Tensor:
    torch.manual_seed(0)
    return torch.randn(2, 4)


def trace_on_meta(body: Any, *inputs: torch.Tensor) -> Any:
    module = torch.nn.Module()
    module.forward = body
    return trace_module(module, tuple(value.to("meta") for value in inputs), subject="s")


def round_trip(graph: Any) -> None:
    facts = [node.outputs for node in graph.nodes]
    assert hash_graph(parse(render(graph), graph.tensors)) == hash_graph(graph)
    back = graph_from_files(sample_files(graph))
    assert (back, hash_graph(back)) == (graph, hash_graph(graph))
    assert [node.outputs for node in back.nodes] == facts


def test_lists_options_keywords_and_tuples_travel(check, x):
    def body(m, x):
        low, high = python_ops.bounds(x, 1)
        plain = python_ops.mix([low, high], [0.5, 2.0])
        return python_ops.mix([plain, low], [1.0, 1.0], high, scale=3.0, name="a 'b'"), low

    graph = check(body, x).graph
    assert graph.op_names == ("passnet_python.bounds", "passnet_python.mix", "passnet_python.mix")
    assert graph.outputs == (OpRef(2), OpRef(0, (0,)))
    round_trip(graph)


def test_ops_of_a_library_keep_their_own_names(check, x):
    graph = check(lambda m, x: torch.ops.passnet_library.thrice.default(x, times=2) * 2, x).graph
    assert graph.nodes[0].target == "torch.ops.passnet_library.thrice.default"
    assert graph.op_names[0] == "passnet_library.thrice"
    round_trip(graph)


def test_an_op_that_writes_into_an_operand_stays_though_nobody_uses_what_it_returns(check, x):
    def body(m, x):
        total = torch.zeros_like(x)
        python_ops.accumulate(x, total)
        python_ops.count(x, seen=total)
        torch.ops.passnet_library.scale_(total, 2.0)
        python_ops.twice(x)
        return total

    graph = check(body, x).graph
    assert graph.op_names == (
        "zeros_like", "passnet_python.accumulate", "passnet_python.count", "passnet_library.scale_",
    )  # fmt: skip
    assert [written_operands(node) for node in graph.nodes[1:3]] == [(OpRef(0),), (OpRef(0),)]
    with pytest.raises(CutError, match="mutates_boundary"):
        cut(graph, 2, 3)
    round_trip(graph)


def test_an_op_that_says_it_is_random_stays(check, x):
    graph = check(lambda m, x: (python_ops.noise(x), x + torch.rand(4))[1], x).graph
    assert graph.op_names == ("passnet_python.noise", "rand", "add")


def test_a_write_of_an_input_value_by_a_custom_op_is_followed_to_a_read(check, x):
    def body(m, x):
        total = torch.zeros_like(x)
        python_ops.accumulate(x, total)
        return x * total.sum().item()

    (read,) = check(body, x, modes=("real",)).value_reads
    assert read.depends_on_input
    with pytest.raises(SubjectError) as error:
        trace_on_meta(lambda x: body(None, x), x)
    assert error.value.reason is Reason.DATA_DEPENDENT


def test_effects_are_read_from_the_schema() -> None:
    declare_schema("passnet_schema.op", 'passnet_schema::op(Tensor a, str s="x, (y", *, Tensor(b!)[] out) -> ()')
    target = "torch.ops.passnet_schema.op"
    node = Node("passnet_schema.op", target, (TensorRef(0),), (("out", (TensorRef(1), TensorRef(2))),))
    assert effects_of(f"{target}.default") == effects_of(target)
    assert set(written_operands(node)) == {TensorRef(1), TensorRef(2)} and has_effect(node)
    with pytest.raises(ValueError, match="not an op's schema"):
        declare_schema("passnet_schema.op", "no schema")


def test_an_undeclared_op_that_returns_nothing_may_write_anywhere_and_hashes_do_not_ask() -> None:
    node = Node("passnet_unknown.op", "torch.ops.passnet_unknown.op", (TensorRef(0), (TensorRef(1),)))
    assert written_operands(node) == (TensorRef(0), TensorRef(1))
    assert mutated_operands(node) == ()


def test_a_triton_op_traces_without_a_gpu(x) -> None:
    graph = trace_on_meta(lambda x: triton_ops.add(x, triton_ops.wrapped_add(x, x)), x).graph
    assert graph.op_names == ("passnet_triton.wrapped_add", "passnet_triton.add")
    text = Path(triton_ops.__file__).read_text()
    assert [op.source for op in collect_custom_ops(graph)] == [text, text]
    round_trip(graph)


@pytest.mark.skipif(torch.cuda.is_available(), reason="says what happens without a GPU")
def test_a_triton_op_cannot_run_here_and_says_so(x) -> None:
    graph = trace_on_meta(lambda x: triton_ops.add(x, x), x).graph
    with pytest.raises(RuntimeError, match="driver"):
        replay(graph, [x])


def test_the_source_of_each_kind_of_registration_is_found(x) -> None:
    def body(x):
        return torch.ops.passnet_library.thrice(python_ops.twice(x))

    library_op, python_op = collect_custom_ops(trace_on_meta(body, x).graph)
    assert library_op == CustomOp(
        "passnet_library.thrice",
        "passnet_library::thrice(Tensor x, int times=3) -> Tensor",
        Path(library_ops.__file__).read_text(),
        "Apache-2.0",
    )
    assert (python_op.source, python_op.licence) == (Path(python_ops.__file__).read_text(), "MIT")


@pytest.mark.parametrize(
    ("source", "licence"),
    [
        ("# SPDX-License-Identifier: Apache-2.0 OR MIT\nx = 1", "Apache-2.0 OR MIT"),
        ("# Licensed under the Apache\n# License, Version 2.0 (the", "Apache-2.0"),
        ('"""Permission is hereby granted,\nfree of charge"""', "MIT"),
        ("import torch", None),
        ("\n" * 60 + "# SPDX-License-Identifier: MIT", None),
    ],
)
def test_a_licence_is_read_from_the_head_of_the_file(source: str, licence: str | None) -> None:
    assert find_licence(source) == licence


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("import importlib\ndef f():\n    importlib.import_module('numpy.linalg')", "numpy.linalg"),
        ("from importlib import import_module as load\n__import__('requests')", "requests"),
        ("def f():\n    import pandas", "pandas"),
        ("import importlib\nimportlib.import_module(name='einops')", "einops"),
        ("import importlib\nimportlib.import_module('num' + 'py')", "('num' + 'py')"),
        ("import importlib\nimportlib.import_module('torch.nn')", None),
    ],
)
def test_imports_by_call_are_found(source: str, found: str | None) -> None:
    assert forbidden_import(source) == found


def test_torchvision_is_no_custom_namespace_and_its_ops_replay(check) -> None:
    boxes, features = torch.tensor([[0.0, 0, 4, 4], [1, 1, 5, 5]]), torch.randn(1, 3, 8, 8)

    def body(m, features, boxes, offset, weight):
        rois = torchvision.ops.roi_align(features, [boxes], output_size=2)
        moved = torchvision.ops.deform_conv2d(features, offset, weight)
        return rois, moved, torchvision.ops.box_iou(boxes, boxes)

    graph = check(body, features, boxes, torch.randn(1, 18, 6, 6), torch.randn(4, 3, 3, 3)).graph
    assert {"torchvision.roi_align", "torchvision.deform_conv2d"} <= set(graph.op_names)
    assert custom_targets(graph) == ()
    round_trip(graph)


def test_torchvisions_ops_resolve_in_a_process_that_has_not_imported_it() -> None:
    code = "from extract.spelling import resolve; print(resolve('torch.ops.torchvision.roi_align'))"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT)
    assert (found.stdout, found.returncode) == ("torchvision.roi_align\n", 0), found.stderr


def test_stochastic_depth_is_recorded_as_the_ops_in_it(check, x) -> None:
    graph = check(torchvision.ops.StochasticDepth(0.5, "row"), x).graph
    assert graph.op_names == ("empty", "bernoulli_", "div_", "mul")


def test_non_maximum_suppression_depends_on_values(check) -> None:
    boxes = torch.tensor([[0.0, 0, 4, 4], [1, 1, 5, 5], [9, 9, 12, 12]])

    def body(boxes, scores):
        return torchvision.ops.nms(boxes, scores, 0.1)

    scores = torch.tensor([0.9, 0.8, 0.7])
    with pytest.raises(SubjectError) as error:
        trace_on_meta(body, boxes, scores)
    assert error.value.reason is Reason.DATA_DEPENDENT
    (read,) = check(lambda m, b, s: body(b, s), boxes, scores, modes=("real",)).value_reads
    assert (read.method, read.depends_on_input) == ("torchvision.nms", True)


@pytest.mark.parametrize(
    "target",
    [
        "torch.ops.load_library",
        "torch.ops.load_library.__call__",
        "torch.ops.load_library.__func__",
        "torch.ops.import_module.__call__",
        "torch.ops.aten.__class__",
        "torch.ops.aten.add.__call__",
        "torch.ops.__dict__.get",
        "torch.ops.aten.from_file",
        "torch.ops.aten.save",
        "torch.ops.prim.Print",
        "torch.ops.higher_order.cond",
        "torch.ops.passnet_nowhere.op",
        "torch.hub.load",
        "torch.classes.load_library",
    ],
)
def test_a_foreign_text_reaches_registered_ops_only(target: str, x) -> None:
    text = f"import torch\nclass GraphModule(torch.nn.Module):\n    def forward(self, x):\n        y = {target}('f.so')"
    graph = parse(f"{text}\n        return (x,)", trace_on_meta(lambda x: x + 1, x).graph.tensors)
    with pytest.raises(UnknownCallable):
        replay(graph, [x])
    with pytest.raises(UnknownCallable):
        resolve(target)


CONFINED = """
import os, torch
{body}
library = torch.library.Library("passnet_confined", "DEF")
library.define("op(Tensor x) -> Tensor")
"""


def confined(body: str) -> str:
    return CONFINED.format(body=body)


def test_a_source_registers_alone_without_secrets(monkeypatch) -> None:
    monkeypatch.setenv("HF_TOKEN", "secret")
    op = CustomOp("passnet_confined.op", "passnet_confined::op(Tensor x) -> Tensor")
    register_alone(confined("assert 'HF_TOKEN' not in os.environ and not os.path.exists(os.environ['HOME'])"), [op])
    with pytest.raises(NotRegistered, match="the record says"):
        register_alone(confined(""), [CustomOp(op.name, "passnet_confined::op(Tensor x, int n) -> Tensor")])


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("os._exit(0)", "exited"),
        pytest.param("open('big', 'wb').write(b'x' * (4 << 20))", "File too large", marks=pytest.mark.slow),
        pytest.param("x = bytearray(9 << 30)", "MemoryError", marks=pytest.mark.slow),
        pytest.param("import time; time.sleep(60)", "timeout", marks=pytest.mark.slow),
        pytest.param("raise SystemExit", "SystemExit", marks=pytest.mark.slow),
    ],
)
def test_a_source_is_confined(body: str, message: str) -> None:
    limits = replace(LIMITS, seconds=8.0)
    with pytest.raises(NotRegistered, match=message):
        register_alone(confined(body), [CustomOp("passnet_confined.op")], limits)


@pytest.fixture(scope="module")
def worker() -> Any:
    command = [sys.executable, "-m", "tasks.trace_worker", "--import", "tests.custom_ops.custom_op_models"]
    with Sandbox(command) as sandbox:
        yield sandbox


@pytest.mark.parametrize(
    "name",
    ["custom_python", *(pytest.param(f"custom_{kind}", marks=pytest.mark.slow) for kind in ("library", "triton"))],
)
def test_a_model_with_custom_ops_is_stored_and_passes_every_verdict(worker: Sandbox, name: str) -> None:
    reply, payload = worker.request({"do": "trace", "model_id": f"timm/{name}", "max_params": None})
    assert "failure" not in reply, reply
    ops = tables_from_bytes(payload)["custom_ops"].to_pylist()
    assert ops and all(op["source"] and op["schema"] for op in ops)
    reply, payload = worker.request({"do": "validate", "level": "fake"}, payload)
    assert "failure" not in reply, reply
    verdicts = {row["constraint"]: row for row in tables_from_bytes(payload)["constraints"].to_pylist()}
    failed = {key: row for key, row in verdicts.items() if row["outcome"] == "failed"}
    assert not failed
    assert verdicts["custom_op_accessible"]["outcome"] == "passed"
