"""Each reason why an instance makes no task, by a program that has it; what makes one; levels as by hand."""

from __future__ import annotations

import random
from typing import Any

import pytest
import torch

from extract.graph import Graph, Node, OpRef, Ref, TensorMeta, TensorRef, TorchConstant
from passbench.checking import check_instance
from passbench.instance_check import NUM_DRAWS, Degenerate, InstanceCheck, null_reason
from passbench.null_submissions import NullLevels

Call = tuple[Any, ...]
X, W = TensorRef(0), TensorRef(1)
SEED = 7


def tensor(name: str, shape: tuple[int, ...], dtype: str = "float32", **values: Any) -> TensorMeta:
    strides = tuple(torch.empty(shape, device="meta").stride())
    return TensorMeta(name, "input", name, shape, strides, dtype, **values)


ROWS, WEIGHT = tensor("x", (16, 64)), tensor("w", (64, 64))


def graph(*calls: Call, outputs: tuple[Ref, ...] = (), tensors: tuple[TensorMeta, ...] = (ROWS, WEIGHT)) -> Graph:
    nodes = tuple([Node(target.rpartition(".")[2], target, tuple(args)) for target, *args in calls])
    return Graph(nodes, tensors, outputs or (OpRef(len(nodes) - 1),))


LINEAR: Call = ("torch.nn.functional.linear", X, W)
NAN = (("torch.sub", X, X), ("torch.div", OpRef(0), OpRef(0)))
HIDDEN = (("torch.lt", X, 100.0), ("torch.Tensor.masked_fill", X, OpRef(0), float("-inf")))
MASKED = (("torch.lt", X, 0.0), ("torch.Tensor.masked_fill", X, OpRef(0), float("-inf")), ("torch.mul", OpRef(1), 2.0))
REASONS = {
    "raises": (Degenerate.RAISES, graph(("torch.matmul", X, X))),
    "not a call of the allowlist": (Degenerate.RAISES, graph(("torch.load", X))),
    "more memory than there is": (Degenerate.OUT_OF_MEMORY, graph(("torch.Tensor.repeat", X, 1 << 16, 1 << 16))),
    "no element": (Degenerate.NO_OUTPUT, graph(("torch.narrow", X, 0, 0, 0), ("torch.neg", OpRef(0)))),
    "views": (Degenerate.LAUNCHES_NOTHING, graph(("torch.transpose", X, 0, 1), ("torch.unsqueeze", W, 0))),
    "nan": (Degenerate.NOT_FINITE, graph(*NAN)),
    "nan in one of two": (Degenerate.NOT_FINITE, graph(*NAN, LINEAR, outputs=(OpRef(1), OpRef(2)))),
    "all infinite": (Degenerate.NOT_FINITE, graph(*HIDDEN)),
    "random": (Degenerate.NON_DETERMINISTIC, graph(("torch.rand_like", X), ("torch.mul", OpRef(0), X))),
    "dropout": (Degenerate.NON_DETERMINISTIC, graph(("torch.nn.functional.dropout", X, 0.5, True))),
    "unwritten": (Degenerate.NON_DETERMINISTIC, graph(("torch.empty_like", X), ("torch.add", OpRef(0), X))),
    "constant": (Degenerate.CONSTANT, graph(("torch.ones_like", X), ("torch.mul", OpRef(0), 3.0))),
    "constant zeros": (Degenerate.CONSTANT, graph(("torch.zeros_like", X))),
    "identity": (Degenerate.IDENTITY, graph(("torch.mul", X, 1.0))),
    "identity of what is written": (Degenerate.IDENTITY, graph(("torch.Tensor.add_", X, 1e-5))),
    "identities": (
        Degenerate.IDENTITY,
        graph(("torch.add", X, 1e-6), ("torch.clone", W), outputs=(OpRef(0), OpRef(1))),
    ),
    "zeros": (Degenerate.ZEROS, graph(LINEAR, ("torch.mul", OpRef(0), 1e-5))),
    "ones": (Degenerate.ONES, graph(LINEAR, ("torch.mul", OpRef(0), 1e-6), ("torch.exp", OpRef(1)))),
    "mean": (Degenerate.MEAN, graph(LINEAR, ("torch.mul", OpRef(0), 1e-6), ("torch.add", OpRef(1), 3.0))),
}
TASKS = {
    "linear": graph(LINEAR),
    "relu": graph(("torch.relu", X)),
    "written": graph(("torch.Tensor.mul_", X, 3.0)),
    "a written operand seen through a view": graph(("torch.Tensor.relu_", X), ("torch.transpose", OpRef(0), 0, 1)),
    "a mask's infinities": graph(*MASKED),
    "integers": graph(("torch.argmax", X, 1)),
    "bools": graph(("torch.lt", X, 0.0)),
    "one output of two is zeros": graph(LINEAR, ("torch.zeros_like", X), outputs=(OpRef(0), OpRef(1))),
    "one output of two is an operand": graph(LINEAR, ("torch.clone", X), outputs=(OpRef(0), OpRef(1))),
    "one output of two is no work": graph(LINEAR, ("torch.transpose", X, 0, 1), outputs=(OpRef(0), OpRef(1))),
    "one output of two has no element": graph(LINEAR, ("torch.narrow", X, 0, 0, 0), outputs=(OpRef(0), OpRef(1))),
    "random numbers that no output shows": graph(("torch.rand_like", X), LINEAR),
    "dropout that is off": graph(LINEAR, ("torch.nn.functional.dropout", OpRef(0), 0.5, False)),
    "memory that is written": graph(("torch.empty_like", X), ("torch.Tensor.copy_", OpRef(0), X), ("torch.exp", X)),
}


@pytest.mark.parametrize("name", REASONS)
def test_each_reason_by_a_program_that_has_it(name: str) -> None:
    reason, program = REASONS[name]
    found = check_instance(program, SEED)
    assert found.reason is reason
    assert "\n" not in (found.detail or "")
    assert (found.detail is not None) == (
        reason.value in ("raises", "out_of_memory", "not_finite", "non_deterministic")
    )


@pytest.mark.parametrize("name", TASKS)
def test_what_computes_something_may_make_a_task(name: str) -> None:
    found = check_instance(TASKS[name], SEED)
    assert found.reason is None and found.detail is None


def test_levels_are_the_smallest_on_any_draw_and_reported_beside_the_reason() -> None:
    found = check_instance(REASONS["constant zeros"][1], SEED)
    assert (found.zeros_level, found.mean_level, found.ones_level) == (-10, -10, 0)
    assert check_instance(REASONS["identity"][1], SEED).identity_level == -10
    linear = check_instance(TASKS["linear"], SEED)
    assert (linear.zeros_level, linear.ones_level, linear.identity_level) == (0, 0, None)  # atol = rtol = 1 at t = 0
    assert check_instance(TASKS["integers"], SEED) == InstanceCheck(None)
    assert check_instance(REASONS["raises"][1], SEED).zeros_level is None


def test_a_check_is_the_same_at_each_call_and_in_any_order() -> None:
    chosen = [REASONS[name][1] for name in ("nan", "random", "dropout", "unwritten", "identities", "mean")]
    programs = [*chosen, *[TASKS[name] for name in ("linear", "written", "random numbers that no output shows")]]
    first = [check_instance(program, SEED, 2) for program in programs]
    order = random.Random(0).sample(range(len(programs)), len(programs))
    again = {place: check_instance(programs[place], SEED, 2) for place in order}
    assert [again[place] for place in range(len(programs))] == first


def test_a_single_draw_does_not_show_what_is_constant() -> None:
    with pytest.raises(ValueError, match="2 at least"):
        check_instance(TASKS["linear"], SEED, 1)
    assert NUM_DRAWS == 5


def test_half_precision_is_checked_by_its_own_tolerances() -> None:
    program = graph(("torch.mul", X, 1e-3), tensors=(tensor("x", (16, 64), "bfloat16"),))
    assert check_instance(program, SEED).reason is None  # 4e-3 at most: beyond 1e-3, within 1e-2
    widened = graph(("torch.Tensor.to", X, TorchConstant("dtype", "float32")), tensors=program.tensors)
    assert check_instance(widened, SEED).identity_level is None  # an operand of another dtype is none


def test_samples_change_no_level() -> None:
    torch.manual_seed(0)
    draws = [([torch.randn(300, 100) * 10.0**-size], [torch.randn(300, 100) * 10.0**-size]) for size in (0, 4, 2)]
    draws[1][0][0][299, 99] = 0.5  # an element that samples miss
    together = NullLevels()
    alone = []
    for outputs, operands in draws:
        together.add(outputs, operands)
        alone.append(NullLevels())
        alone[-1].add(outputs, operands)
    for name in ("zeros", "ones", "mean", "identity"):
        levels = [getattr(levels, name) for levels in alone]
        assert getattr(together, name) == min(level for level in levels if level is not None)
    assert [levels.zeros for levels in alone] == [0, 0, -1]  # 0.5 is beyond 0.1 + 0.5 * 10 ** -1.1772


def test_an_output_takes_the_closest_operand_and_all_outputs_must_have_one() -> None:
    one, other = torch.zeros(4, 4), torch.ones(4, 4)
    levels = NullLevels()
    levels.add([one + 1e-5, other], [other, one, torch.zeros(4)])
    assert levels.identity == -5
    levels.add([one, torch.zeros(3)], [one])
    assert levels.identity == -5
    levels.add([one, other], [one, other])
    assert levels.identity == -10


def test_the_first_of_several_null_submissions_is_the_reason() -> None:
    assert null_reason(-3, -3, -3, None) is Degenerate.ZEROS
    assert null_reason(-3, None, None, -4) is Degenerate.IDENTITY
    assert null_reason(-2, None, -3, 0) is Degenerate.MEAN
    assert null_reason(-2, -1, None, 0) is None
