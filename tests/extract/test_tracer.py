from __future__ import annotations

import dataclasses
import gc
from typing import Any, NamedTuple

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from extract.failure import Reason, SubjectError
from extract.graph import ArgSlice, OpRef, TensorRef, TorchConstant
from extract.tracer import trace_module


def ops(recording: Any) -> list[str]:
    return list(recording.graph.op_names)


@pytest.fixture
def x() -> torch.Tensor:
    torch.manual_seed(0)
    return torch.randn(2, 4)


def test_identity_survives_objects_that_die(check, x):
    def body(m, x):
        total = x
        for _ in range(200):
            total = total + torch.ones(4) * (x + 1)
            gc.collect(0)
        return total

    assert len(check(body, x).graph.nodes) == 800


def test_an_in_place_op_is_what_later_uses_refer_to(check, x):
    def body(m, x):
        y = x * 2
        y.add_(1)
        y += x
        return y * 3, F.relu(y, inplace=True)

    recording = check(body, x)
    assert ops(recording) == ["mul", "add_", "add_", "mul", "relu_"]
    assert recording.graph.nodes[3].args[0] == OpRef(2)


def test_writes_through_views_reach_their_base(check, x):
    def body(m, x):
        y = x.clone()
        y[:, 0].mul_(5)
        y.view(-1)[1:3] = 7.0
        y[y > 6] = 0.0
        y[0, ...] = x[1]
        return y

    recording = check(body, x)
    assert "setitem" in ops(recording)
    assert recording.graph.outputs == (OpRef(0),)


def test_setitem_has_no_output(check, x):
    def body(m, x):
        y = x.clone()
        y[0] = 1.0
        return y.sum()

    node = check(body, x).graph.nodes[1]
    assert (node.target, node.outputs) == ("operator.setitem", ())


def test_slices_keep_their_bounds(check, x):
    recording = check(lambda m, x: x[:, 1:3, None][..., ::1], x)
    assert recording.graph.nodes[0].args[1] == (ArgSlice(None, None, None), ArgSlice(1, 3, None), None)


def test_attributes_that_make_tensors_are_ops_and_facts_are_not(check, x):
    def body(m, x):
        rows, columns = x.shape
        assert x.dtype.is_floating_point and x.dim() == x.ndim and x.size(1) == columns and x.numel() == 8
        return x.T.reshape(rows, -1) + x.mT.data.reshape(x.shape) + x.H.real.reshape(x.stride()[0] // 2, 4)

    recording = check(body, x)
    assert {"torch.Tensor.T", "torch.Tensor.mT", "torch.Tensor.H", "torch.Tensor.data"} <= {
        node.target for node in recording.graph.nodes
    }


def test_data_assignment_lets_the_tensor_share_the_source(check, x):
    def body(m, x):
        y = x + 1
        y.data = x * 2
        y.add_(1)
        m.linear.weight.data = m.linear.weight.data + 1
        return y, m.linear(y)

    check(body, x)


class Pair(NamedTuple):
    left: torch.Tensor
    right: torch.Tensor


@dataclasses.dataclass
class Output:
    hidden: torch.Tensor
    rest: dict[str, Any]
    nothing: None = None


def test_nested_outputs_are_flattened_in_order(check, x):
    def body(m, x):
        return Output(x + 1, {"a": [x + 2, (x + 3,)], "n": 4, "p": Pair(x + 5, x + 6)})

    recording = check(body, x)
    assert recording.graph.outputs == tuple(OpRef(index) for index in range(5))


def test_an_input_or_a_parameter_may_be_an_output(check, x):
    recording = check(lambda m, x: (x, m.linear.weight), x)
    assert recording.graph.outputs == (TensorRef(0), TensorRef(1))
    assert [tensor.kind for tensor in recording.graph.tensors] == ["input", "parameter"]


def test_elements_of_returned_tuples_are_paths(check, x):
    def body(m, x):
        values, indices = x.max(dim=1)
        first, second = x.split(2, dim=1)
        return values + indices, first * second, torch.topk(x, 2).values

    recording = check(body, x)
    assert ops(recording) == ["max", "split", "add", "mul", "topk"]
    assert recording.graph.nodes[2].args == (OpRef(0, (0,)), OpRef(0, (1,)))


def test_nested_tuples_have_longer_paths(check):
    recording = check(torch.nn.LSTM(4, 3), torch.randn(5, 1, 4))
    lstm = recording.graph.nodes[-1]
    assert [output.path for output in lstm.outputs] == [(0,), (1,), (2,)]


def test_iteration_over_a_tensor_is_unbind(check, x):
    assert ops(check(lambda m, x: sum(row * 2 for row in x), x))[0] == "unbind"


def test_constants_made_in_forward_are_ops(check, x):
    def body(m, x):
        scale = torch.tensor([1.0, 2.0, 3.0, 4.0])
        return x * scale + torch.arange(4) + torch.zeros(2, 1) + torch.full_like(x, 2.0)

    assert ops(check(body, x))[0] == "tensor"


def test_tensors_made_outside_recorded_calls_are_constants_with_values(check, x):
    def body(m, x):
        return x * torch.Tensor([1, 2, 3, 4]) + torch.from_numpy(np.ones(4, np.float32)) + torch.tensor(np.arange(4))

    constants = [tensor for tensor in check(body, x).graph.tensors if tensor.kind == "constant"]
    assert [tensor.values for tensor in constants] == [(1.0, 2.0, 3.0, 4.0), (1.0,) * 4, (0, 1, 2, 3)]


def test_plain_attributes_are_constants_with_a_path(check, x):
    class Holder(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.tables = {"bias": [torch.arange(4.0), torch.ones(4)]}

        def forward(self, x):
            return x + self.tables["bias"][0]

    constants = check(Holder(), x).graph.tensors[1:]
    assert [(tensor.kind, tensor.original_name) for tensor in constants] == [("constant", "tables.bias.0")]


def test_device_literals_are_recorded_as_the_cpu(check, x):
    def body(m, x):
        y = torch.zeros(4, device="cpu") + torch.ones(4, device=x.device)
        assert x.device.type == "cpu" and not x.is_cuda
        return x.cpu() + y.to("cpu") + x.to(torch.device("cpu"), torch.float32)

    recording = check(body, x)
    assert dict(recording.graph.nodes[0].kwargs) == {"device": TorchConstant("device", "cpu")}


def test_a_call_that_returns_its_operand_leaves_the_operand_its_ref(check, x):
    recording = check(lambda m, x: x.contiguous() + x + x.to(torch.float32) + F.dropout(x, 0.5, False), x)
    assert recording.graph.nodes[1].args == (OpRef(0), TensorRef(0))


def test_random_ops_stay_though_nobody_uses_them(check, x):
    def body(m, x):
        torch.rand(3)
        F.dropout(x, 0.5, training=True)
        torch.zeros(3)
        return x + torch.randn_like(x)

    assert ops(check(body, x)) == ["rand", "dropout", "randn_like", "add"]


def test_dead_code_leaves_and_refs_are_renumbered(check, x):
    def body(m, x):
        _ = m.linear(x) * 3
        return x + 1, torch.ones(2) + 1

    recording = check(body, x)
    assert ops(recording) == ["add", "ones", "add"]
    assert [tensor.name for tensor in recording.graph.tensors] == ["x"]
    assert recording.graph.outputs == (OpRef(0), OpRef(2))


def test_tied_weights_are_one_tensor(check, x):
    class Tied(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first, self.second = torch.nn.Linear(4, 4), torch.nn.Linear(4, 4)
            self.second.weight = self.first.weight

        def forward(self, x):
            return self.second(self.first(x))

    names = [tensor.original_name for tensor in check(Tied(), x).graph.tensors]
    assert names == ["x", "first.weight", "first.bias", "second.bias"]


def test_unused_inputs_keep_their_place(check, x):
    recording = check(lambda m, x, mask, y: y + 1, x, torch.ones(3), x + 1)
    assert [(t.name, t.kind) for t in recording.graph.tensors] == [
        ("x", "input"), ("others_0", "input"), ("others_1", "input"),
    ]  # fmt: skip


def test_numpy_scalars_and_sizes_are_numbers(check, x):
    def body(m, x):
        return (x * np.float32(2)).view(torch.Size([4, 2])) + np.int64(3) + torch.finfo(torch.float32).max * 0

    recording = check(body, x)
    assert recording.graph.nodes[0].args[1] == 2.0
    assert recording.graph.nodes[1].args[1] == (4, 2)


def test_a_composite_is_one_node(check):
    attention = torch.nn.MultiheadAttention(4, 2, batch_first=True)
    recording = check(lambda m, x: attention(x, x, x)[0], torch.randn(1, 3, 4), modes=("real",))
    assert ops(recording).count("multi_head_attention_forward") == 1


def test_custom_ops_keep_their_qualified_name(check, x):
    if not hasattr(torch.ops.passnet_test, "twice"):
        schema = "(Tensor v) -> Tensor"
        twice = torch.library.custom_op("passnet_test::twice", lambda v: v * 2, mutates_args=(), schema=schema)
        twice.register_fake(torch.empty_like)
    recording = check(lambda m, x: torch.ops.passnet_test.twice(x) + 1, x)
    assert (recording.graph.nodes[0].op, recording.graph.nodes[0].target) == (
        "passnet_test.twice",
        "torch.ops.passnet_test.twice",
    )


class Doubling(torch.autograd.Function):
    @staticmethod
    def forward(ctx, tensor):
        return tensor * 2

    @staticmethod
    def backward(ctx, gradient):
        return gradient * 2


def test_an_autograd_function_is_followed(check, x):
    assert ops(check(lambda m, x: Doubling.apply(x) + 1, x)) == ["mul", "add"]


def test_reflected_operators_swap_their_operands(check, x):
    recording = check(lambda m, x: (1 - x) / (2 / x) + 2**x, x)
    assert recording.graph.nodes[0].args == (1, TensorRef(0))


def test_initialisers_called_in_forward_are_followed_into_their_body(check, x):
    assert "uniform_" in ops(check(lambda m, x: torch.nn.init.uniform_(torch.empty(4)) + x, x))


def test_a_tensor_of_unknown_origin_is_never_guessed():
    hidden = torch.empty(4, device="meta")
    module = torch.nn.Linear(4, 4, device="meta")
    module.register_forward_hook(lambda m, args, y: y + hidden)
    with pytest.raises(SubjectError) as error:
        trace_module(module, (torch.empty(2, 4, device="meta"),), subject="s")
    assert error.value.reason is Reason.UNTRACKED_TENSOR


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (lambda m, x: 3, Reason.NO_TENSOR_OUTPUT),
        (lambda m, x: x.view(7), Reason.FORWARD_FAILED),
        (lambda m, x: torch.randn(4, generator=torch.Generator()) + x, Reason.UNSUPPORTED_ARGUMENT),
        (lambda m, x: x * 2 if x.sum() > 0 else x, Reason.DATA_DEPENDENT),
        (lambda m, x: x[x > 0], Reason.DATA_DEPENDENT),
        (lambda m, x: x.nonzero(), Reason.DATA_DEPENDENT),
    ],
)
def test_what_cannot_be_traced_on_meta_says_why(body, reason):
    from_body = torch.nn.Module()
    from_body.forward = lambda x: body(from_body, x)
    with pytest.raises(SubjectError) as error:
        trace_module(from_body, (torch.empty(2, 4, device="meta"),), subject="s")
    assert error.value.reason is reason
    assert "\n" not in error.value.detail
