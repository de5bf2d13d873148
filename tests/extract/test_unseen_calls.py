"""What runs past the function mode: recorded truly, or a typed failure that names it; never a silently wrong graph."""

from __future__ import annotations

import copy
import ctypes
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
import torch
from torch.utils.checkpoint import checkpoint

from extract.failure import Reason, SubjectError
from extract.tracer import trace_module


@pytest.fixture
def x() -> torch.Tensor:
    torch.manual_seed(0)
    return torch.randn(2, 4)


class Program(torch.nn.Module):
    def __init__(self, body: Any) -> None:
        super().__init__()
        self.body = body
        self.linear = torch.nn.Linear(4, 4)

    def forward(self, *inputs: torch.Tensor) -> Any:
        return self.body(self, *inputs)


def failure_of(body: Any, *inputs: torch.Tensor, mode: str) -> SubjectError:
    module = Program(body).to("meta" if mode == "meta" else "cpu")
    given = tuple(value.to("meta") if mode == "meta" else value.clone() for value in inputs)
    with pytest.raises(SubjectError) as error:
        trace_module(module, given, subject="s")
    return error.value


class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx, tensor, power):
        squared = tensor**power
        ctx.save_for_backward(tensor, squared)
        return squared, power, "text"

    @staticmethod
    def backward(ctx, gradient, *rest):
        return gradient, None


class AddOne(torch.autograd.Function):
    @staticmethod
    def forward(ctx, tensor):
        ctx.mark_dirty(tensor)
        return tensor.add_(1)

    @staticmethod
    def backward(ctx, gradient):
        return gradient


class Same(torch.autograd.Function):
    @staticmethod
    def forward(ctx, tensor):
        return tensor

    @staticmethod
    def backward(ctx, gradient):
        return gradient


class Nested(torch.autograd.Function):
    @staticmethod
    def forward(tensor, by):
        return Square.apply(tensor, 3)[0] * by + AddOne.apply(tensor.clone())

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.by = inputs[1]

    @staticmethod
    def backward(ctx, gradient):
        return gradient, None


def saved(m: Any, x: torch.Tensor) -> Any:
    squared, power, text = Square.apply(x, 2)
    return squared * power * len(text)


def dirty(m: Any, x: torch.Tensor) -> Any:
    y = x * 2
    return AddOne.apply(y) + y, y


def same_then_written(m: Any, x: torch.Tensor) -> Any:
    y = x.clone()
    Same.apply(y).mul_(3)
    return y + Same.apply(x)


def with_and_without_gradients(m: Any, x: torch.Tensor) -> Any:
    with torch.no_grad():
        first = Square.apply(x, 2)[0]
    with torch.enable_grad():
        second = Same.apply(Nested.apply(m.linear(x), 2.0))
    return first + second


@pytest.mark.parametrize(
    ("body", "ops"),
    [
        (saved, ["pow", "mul", "mul"]),
        (dirty, ["mul", "add_", "add"]),
        (same_then_written, ["clone", "view_as", "mul_", "view_as", "add"]),
        (lambda m, x: Nested.apply(x, 2.0), ["pow", "mul", "clone", "add_", "add"]),
        (with_and_without_gradients, None),
        (lambda m, x: checkpoint(lambda t: m.linear(t).relu(), x, use_reentrant=False), ["linear", "relu"]),
        (lambda m, x: checkpoint(lambda t: m.linear(t).relu(), x, use_reentrant=True), ["linear", "relu"]),
        (lambda m, x: torch.func.functional_call(m.linear, {"weight": m.linear.weight * 2}, (x,)), ["mul", "linear"]),
        (lambda m, x: torch.cond(x.shape[0] > 1, lambda t: t * 2, lambda t: t * 3, (x,)), ["mul"]),
        (lambda m, x: copy.deepcopy(x) * 2, ["clone", "mul"]),
        (lambda m, x: torch.Tensor(x) * torch.Tensor(m.linear.weight)[:2], ["getitem", "mul"]),
        (lambda m, x: x * torch.FloatTensor([1, 2, 3, 4]), ["mul"]),
        (lambda m, x: x + torch.from_numpy(np.arange(4.0) * 2), ["add"]),
    ],
)
def test_recorded_truly(check, x, body, ops) -> None:
    found = list(check(body, x).graph.op_names)
    assert ops is None or found == ops


def test_an_alias_that_torch_makes_itself_stands_for_its_operand(check, x) -> None:
    def body(m, x):
        with torch.enable_grad():
            y = m.linear(x)
        alias = Same.apply(y)
        alias.mul_(2)
        return y + alias

    assert "mul_" in check(body, x, modes=("real",)).graph.op_names
    assert "mul_" in check(body, x, modes=("meta",)).graph.op_names


@torch.jit.script
def scripted(t: torch.Tensor) -> torch.Tensor:
    return t * 2 + 1


@torch.jit.script
def scripted_in_place(t: torch.Tensor) -> None:
    t.mul_(2)


class Scripted(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner = torch.jit.script(torch.nn.Linear(4, 4))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.inner(x)


def kept_in_an_attribute(m: Any, x: torch.Tensor) -> Any:
    m.cache = scripted(x)
    return x + m.cache


def written_by_a_script(m: Any, x: torch.Tensor) -> Any:
    y = x + 1
    scripted_in_place(y)
    return y * 3


def real_part(m: Any, x: torch.Tensor) -> Any:
    z = torch.complex(x, x)
    z.real = z.imag * 2
    return z * 2


def taken_over(m: Any, x: torch.Tensor) -> Any:
    return torch.empty(0).set_(x) * 2


def grouped(m: Any, x: torch.Tensor) -> Any:
    y = x * 1
    torch._foreach_mul_([y], 2.0)
    return y + 1


def in_another_thread(m: Any, x: torch.Tensor) -> Any:
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(lambda: x * 2).result() + 1


@pytest.mark.parametrize("mode", ["meta", "real"])
@pytest.mark.parametrize(
    ("body", "says"),
    [
        (lambda m, x: scripted(x), "aten.add.Scalar"),
        (lambda m, x: x + scripted(m.linear.weight)[0], "aten.add.Scalar"),
        (kept_in_an_attribute, "aten.add.Scalar"),
        (written_by_a_script, "aten.mul_.Scalar wrote"),
        (real_part, "aten.copy_.default wrote"),
        (taken_over, "aten.set_.source_Tensor wrote"),
        (grouped, "aten._foreach_mul_.Scalar wrote"),
        (in_another_thread, "made outside the recorded calls"),
        (lambda m, x: torch.func.vmap(lambda row: row * 2 + row.sum())(x), "torch.func"),
        (lambda m, x: torch.func.grad(lambda t: (t * t).sum())(x), "torch.func"),
        (lambda m, x: torch.func.jacrev(lambda t: t * t)(x[0]), "torch.func"),
        (lambda m, x: torch.nn.Parameter(x) * 2, "memory of a data input"),
        (lambda m, x: torch.nn.Parameter(x * 2) + 1, "made outside"),
        (lambda m, x: x.as_subclass(torch.nn.Parameter) * 2, "memory of a data input"),
        (lambda m, x: torch.Tensor(2, 4) * x, "aten.empty.memory_format"),
    ],
)
def test_what_runs_past_the_recorder_is_a_failure_that_names_it(x, body, says, mode) -> None:
    failure = failure_of(body, x, mode=mode)
    assert failure.reason is Reason.UNTRACKED_TENSOR
    assert says in failure.detail


@pytest.mark.parametrize("mode", ["meta", "real"])
@pytest.mark.parametrize(
    "body",
    [
        lambda m, x: torch.cond(x.sum() > 0, lambda t: t * 2, lambda t: t * 3, (x,)),
        lambda m, x: torch.func.jvp(lambda t: t * t, (x,), (x,)),
        lambda m, x: torch._foreach_mul([x], 2.0)[0],
    ],
)
def test_other_constructs_are_typed_failures(x, body, mode) -> None:
    assert failure_of(body, x, mode=mode).reason in (Reason.FORWARD_FAILED, Reason.UNSUPPORTED_ARGUMENT)


@pytest.mark.parametrize("mode", ["meta", "real"])
def test_a_scripted_module_is_a_failure(x, mode) -> None:
    module = Scripted().to("meta" if mode == "meta" else "cpu")
    with pytest.raises(SubjectError, match=r"aten\.addmm"):
        trace_module(module, (x.to("meta") if mode == "meta" else x,), subject="s")


def test_a_script_on_real_integers_among_meta_weights_is_no_constant() -> None:
    class Lookup(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.table = torch.nn.Embedding(10, 4)

        def forward(self, ids):
            return self.table(scripted(ids))

    with pytest.raises(SubjectError, match=r"aten\.add"):
        trace_module(Lookup().to("meta"), (torch.tensor([1, 2]),), subject="s")


def test_the_backward_pass_is_no_constant(x) -> None:
    def body(m, x):
        with torch.enable_grad():
            leaf = x.detach().requires_grad_()
            (leaf * leaf).sum().backward()
        return leaf.grad * 2

    assert failure_of(body, x, mode="real").reason is Reason.UNTRACKED_TENSOR
    assert failure_of(body, x, mode="meta").reason in (Reason.UNTRACKED_TENSOR, Reason.FORWARD_FAILED)


def written_array(m: Any, x: torch.Tensor) -> Any:
    y = x * 1
    array = y.numpy()
    array *= 2
    return y + 1


def written_pointer(m: Any, x: torch.Tensor) -> Any:
    y = x * 1
    ctypes.memset(y.data_ptr(), 0, 4)
    return y


def written_storage(m: Any, x: torch.Tensor) -> Any:
    y = x * 1
    y.untyped_storage().fill_(0)
    return y + 1


@pytest.mark.parametrize(
    "body",
    [
        written_array,
        written_pointer,
        written_storage,
        lambda m, x: torch.from_numpy(x.numpy()) * 2,
        lambda m, x: torch.as_tensor(x.numpy()) * 2,
        lambda m, x: torch.from_dlpack(x * 1) * 2,
    ],
)
def test_shared_memory_is_no_way_around_the_recorder(x, body) -> None:
    assert failure_of(body, x, mode="real").reason is Reason.UNTRACKED_TENSOR


def test_recorded_writes_into_exposed_memory_are_fine(check, x) -> None:
    def body(m, x):
        y = x * 1
        address = y.data_ptr()
        y.add_(1)
        return y * (1 if address >= 0 else 2)

    assert list(check(body, x).graph.op_names) == ["mul", "add_", "mul"]


@pytest.mark.parametrize(
    "body",
    [
        lambda m, x: torch.from_numpy(x.numpy() * 2),
        lambda m, x: torch.from_numpy(np.asarray(x) * 2) + x,
        lambda m, x: torch.from_numpy(np.from_dlpack(x) * 2),
        lambda m, x: torch.tensor(x.tolist()),
    ],
)
def test_a_round_trip_of_values_is_a_read_that_depends_on_the_input(check, x, body) -> None:
    (read,) = check(body, x, modes=("real",)).value_reads
    assert read.depends_on_input
    assert failure_of(body, x, mode="meta").reason is Reason.DATA_DEPENDENT


def test_writes_into_an_array_of_known_values_fail_on_meta(x) -> None:
    def body(m, x):
        table = torch.zeros(4)
        table.numpy()[0] = 5
        return x + table

    assert "read-only" in failure_of(body, x, mode="meta").detail
    assert failure_of(body, x, mode="real").reason is Reason.UNTRACKED_TENSOR


GLOBAL = torch.arange(4.0)


def test_tensors_that_were_there_before_a_real_run_are_constants(check, x) -> None:
    closed_over = torch.ones(4)
    graph = check(lambda m, x: x + GLOBAL + closed_over, x, modes=("real",)).graph
    assert [tensor.kind for tensor in graph.tensors] == ["input", "constant", "constant"]


def test_a_swallowed_write_is_not_forgotten(x) -> None:
    def body(m, x):
        y = x * 1
        try:
            scripted_in_place(y)
        except Exception:
            y = y * 2
        return y

    for mode in ("meta", "real"):
        assert "wrote" in failure_of(body, x, mode=mode).detail
