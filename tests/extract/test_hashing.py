"""Canonical names and hashes: what must be equal is, and what must differ does."""

from __future__ import annotations

from dataclasses import replace

import pytest

from extract.canonical import bind, canonical_op, has_effect, is_random, mutated_operands
from extract.graph import Arg, ArgList, ArgSlice, Graph, Node, OpRef, TensorMeta, TensorRef, TorchConstant
from extract.hashing import hash_graph, single_op_sha256

X, W = TensorRef(0), TensorRef(1)


def call(target: str, *args: Arg, **kwargs: Arg) -> Node:
    return Node(canonical_op(target, args, kwargs), target, args, tuple(kwargs.items()))


def graph(*nodes: Node, batch: int = 1) -> Graph:
    shape = (batch, 6, 4, 4)
    x = TensorMeta("x", "input", "x", shape, (96, 16, 4, 1), "float32")
    w = TensorMeta("w", "parameter", "w", (6, 6, 1, 1), (6, 1, 1, 1), "float32")
    return Graph(nodes, (x, w), (OpRef(len(nodes) - 1),))


def sha(*nodes: Node) -> str:
    return hash_graph(graph(*nodes)).graph_sha256


SAME = {
    "add": [("torch.add", (X, W)), ("operator.add", (X, W)), ("torch.Tensor.add", (X, W))],
    "relu": [("torch.relu", (X,)), ("torch.nn.functional.relu", (X,)), ("torch.Tensor.relu", (X,))],
    "relu_": [("torch.relu_", (X,)), ("torch.Tensor.relu_", (X,)), ("torch.nn.functional.relu_", (X,))],
    "permute": [("torch.permute", (X, (0, 2, 3, 1))), ("torch.Tensor.permute", (X, 0, 2, 3, 1))],
    "cat": [("torch.cat", ((X, X), 1)), ("torch.concat", (ArgList((X, X)), 1))],
    "conv2d": [("torch.conv2d", (X, W)), ("torch.nn.functional.conv2d", (X, W, None, 1, 0, (1, 1), 1))],
    "max_pool2d": [("torch.max_pool2d", (X, 2)), ("torch.nn.functional.max_pool2d", (X, (2, 2)))],
    "getitem": [("operator.getitem", (X, 0))],
    "floor_divide": [("operator.floordiv", (X, 2)), ("torch.floor_divide", (X, 2))],
    "linear": [("torch.nn.functional.linear", (X, W))],
}


@pytest.mark.parametrize("op", SAME)
def test_all_spellings_of_an_operation_are_one_name_and_one_hash(op: str) -> None:
    nodes = [call(target, *args) for target, args in SAME[op]]
    assert {node.op for node in nodes} == {op}
    assert len({sha(node) for node in nodes}) == 1


DIFFERENT = [
    (call("torch.relu", X), call("torch.relu_", X)),
    (call("torch.nn.functional.relu", X), call("torch.nn.functional.relu", X, inplace=True)),
    (call("operator.sub", X, 1), call("operator.sub", 1, X)),
    (call("torch.add", X, 1), call("torch.add", X, 1.0)),
    (call("torch.add", X, True), call("torch.add", X, 1)),
    (call("torch.full", (2,), 0.0), call("torch.full", (2,), -0.0)),
    (call("torch.full", (2,), float("nan")), call("torch.full", (2,), float("inf"))),
    (call("operator.getitem", X, (0, 1)), call("operator.getitem", X, ArgList((0, 1)))),
    (call("operator.getitem", X, 0), call("operator.getitem", X, ArgSlice(0, None, None))),
    (call("torch.conv2d", X, W), call("torch.conv2d", X, W, None, 2)),
    (call("torch.add", X, W), call("torch.add", X, X)),
    (call("torch.Tensor.view", X, 1, -1), call("torch.Tensor.view", X, 2, -1)),
    (call("torch.tensor", ArgList((1, 2))), call("torch.tensor", ArgList((1, 3)))),
]


@pytest.mark.parametrize("left, right", DIFFERENT)
def test_programs_that_compute_differently_have_different_hashes(left: Node, right: Node) -> None:
    assert sha(left) != sha(right)


def test_a_default_given_is_a_default_left_out() -> None:
    assert bind(call("torch.nn.functional.softmax", X, dim=-1, _stacklevel=5)) == bind(call("torch.softmax", X, -1))
    assert bind(call("torch.nn.functional.layer_norm", X, (4,), None, None, 1e-5)) == (
        "layer_norm",
        [("input", X), ("normalized_shape", (4,))],
    )


def test_an_int_where_a_float_belongs_is_that_float() -> None:
    assert dict(bind(call("torch.nn.functional.dropout", X, 0, False))[1])["p"] == 0.0


def test_device_literals_are_left_open() -> None:
    hashes = {sha(call("torch.zeros", 2, device=TorchConstant("device", name))) for name in ("cpu", "cuda:0")}
    assert len(hashes) == 1
    assert sha(call("torch.Tensor.to", X, "cuda")) == sha(call("torch.Tensor.to", X, TorchConstant("device", "cpu")))


def test_names_and_argument_order_do_not_count() -> None:
    base = graph(call("torch.add", X, W))
    x, w = base.tensors
    renamed = replace(base, tensors=(replace(x, name="other", original_name="z"), w))
    swapped = Graph((call("torch.add", W, X),), (w, x), (OpRef(0),))
    assert hash_graph(renamed) == hash_graph(base)
    assert hash_graph(swapped).graph_sha256 == hash_graph(base).graph_sha256


def test_shapes_count_in_the_signature_alone() -> None:
    one, two = (hash_graph(graph(call("torch.relu", X), batch=batch)) for batch in (1, 2))
    assert one.graph_sha256 == two.graph_sha256
    assert one.signature_sha256 != two.signature_sha256


def test_sizes_are_masked_in_the_structure_alone() -> None:
    one, two = (hash_graph(graph(call("torch.Tensor.view", X, batch, -1))) for batch in (1, 2))
    assert one.graph_sha256 != two.graph_sha256
    assert one.structure_sha256 == two.structure_sha256
    strides = [hash_graph(graph(call("torch.conv2d", X, W, None, stride))).structure_sha256 for stride in (1, 2)]
    assert strides[0] != strides[1]


def test_slice_bounds_are_sizes_and_plain_indices_are_not() -> None:
    def structure(index: Arg) -> str:
        return hash_graph(graph(call("operator.getitem", X, index))).structure_sha256

    assert structure(ArgSlice(0, 3, None)) == structure(ArgSlice(0, 5, None))
    assert structure(0) != structure(1)


def test_after_an_in_place_op_old_and_new_names_are_one_value() -> None:
    write = call("torch.Tensor.add_", OpRef(0), 1)
    through_result = graph(call("torch.relu", X), write, call("torch.neg", OpRef(1)))
    through_operand = graph(call("torch.relu", X), write, call("torch.neg", OpRef(0)))
    assert hash_graph(through_result) == hash_graph(through_operand)


def test_an_op_that_writes_one_tensor_twice_is_hashed_all_the_same() -> None:
    node = call("torch.nn.functional.batch_norm", X, W, W, training=True)
    assert mutated_operands(node) == (W, W)
    assert len(sha(node, call("torch.neg", W))) == 64


def test_effects_are_known() -> None:
    assert mutated_operands(call("operator.setitem", X, 0, 1.0)) == (X,)
    assert mutated_operands(call("torch.add", X, W, out=W)) == (W,)
    assert not has_effect(call("torch.add", X, W))
    assert is_random(call("torch.nn.functional.dropout", X, 0.5, True))
    assert not is_random(call("torch.nn.functional.dropout", X, 0.5, False))
    assert is_random(call("torch.rand", 2))


def test_an_unknown_op_keeps_its_qualified_name_and_its_arguments() -> None:
    op, arguments = bind(call("torch.ops.my.thing.default", X, 3, mode="a"))
    assert (op, arguments) == ("my.thing", [("0", X), ("1", 3), ("mode", "a")])
    assert bind(call("torch.ops.aten.relu.default", X)) == bind(call("torch.relu", X))


def test_single_op_keys_mask_sizes_and_keep_ranks_and_dtypes() -> None:
    one, two = (graph(call("torch.Tensor.view", X, batch, -1), batch=batch) for batch in (1, 2))
    assert single_op_sha256(one, 0) == single_op_sha256(two, 0)
    x, w = one.tensors
    half = replace(one, tensors=(replace(x, dtype="float16"), w))
    assert single_op_sha256(one, 0) != single_op_sha256(half, 0)
