"""Dynamo's parts carry our records: kinds, qualified names, breaks with their place, the order of execution."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

from extract.compiling import answering, dynamo_denies_compiling
from extract.differences import explain_difference
from extract.dynamo_tracer import Part, capture_parts
from extract.failure import Reason, SubjectError
from extract.graph import OpRef
from extract.hashing import hash_graph
from extract.replay import replay
from extract.tracer import trace_module


class Program(torch.nn.Module):
    def __init__(self, body: Callable[..., Any]) -> None:
        super().__init__()
        self.body = body
        self.linear = torch.nn.Linear(4, 4)
        self.register_buffer("shift", torch.arange(4.0))
        self.table = torch.full((4,), 2.0)

    def forward(self, x: torch.Tensor, y: torch.Tensor | None = None) -> Any:
        return self.body(self, x, y)


def both(body: Callable[..., Any], *, captures_values: bool = False) -> tuple[Any, list[Part]]:
    """Our graph and Dynamo's parts of one program."""
    torch.manual_seed(0)
    module, x, y = Program(body).eval(), torch.ones(2, 4), torch.ones(2, 4)
    ours = trace_module(module, (x,), {"y": y}, subject="s").graph
    return ours, capture_parts(module, (x,), {"y": y}, subject="s", captures_values=captures_values)


def place(body: Callable[..., Any], line: int) -> str:
    return f"test_dynamo_tracer.py:{body.__code__.co_firstlineno + line}"


def test_one_part_is_the_graph_of_the_function_mode_with_its_names_and_outputs():
    def body(self, x, y):
        first, second = torch.relu(self.linear(x) + self.shift).split(2, dim=1)
        z = 0.5 * torch.cat([first, second], 1) * self.table
        x.sin()
        return {"out": z, "again": z, "given": y}

    ours, parts = both(body)
    (part,) = parts
    assert hash_graph(part.graph) == hash_graph(ours)
    assert part.break_reason is None
    named = [(tensor.name, tensor.kind, tensor.original_name) for tensor in part.graph.tensors]
    assert named == [(tensor.name, tensor.kind, tensor.original_name) for tensor in ours.tensors]
    assert ("linear_weight", "parameter", "linear.weight") in named and ("shift", "buffer", "shift") in named
    assert ("table", "constant", "table") in named
    assert part.graph.outputs[0] == part.graph.outputs[1] != part.graph.outputs[2]
    replayed = replay(part.graph, [part.operands[tensor.name] for tensor in part.graph.tensors])
    assert torch.equal(replayed[2], torch.ones(2, 4))


def test_a_value_read_by_an_assert_alone_ends_no_part_and_leaves_no_op():
    def body(self, x, y):
        torch._check_tensor_all(x > -10)  # pyright: ignore
        return self.linear(x)

    ours, parts = both(body, captures_values=True)
    (part,) = parts
    assert part.graph.op_names == ours.op_names == ("linear",)
    assert hash_graph(part.graph) == hash_graph(ours)


def test_a_tensor_of_numbers_that_dynamo_spells_otherwise_is_a_spelling():
    ours, (part,) = both(lambda self, x, y: x * x.new_tensor(0.1))
    assert explain_difference(ours, [part])[0] == "different_spelling"


def test_a_branch_on_a_value_ends_a_part_and_says_where():
    def body(self, x, y):
        z = self.linear(x)
        if z.sum() > 0:
            return z * 2
        return z - 1

    _, parts = both(body)
    assert [part.graph.op_names for part in parts] == [("linear", "sum", "gt"), (parts[1].graph.op_names[0],)]
    assert parts[0].break_reason is not None and parts[0].break_reason.endswith(place(body, 2))
    assert "\n" not in parts[0].break_reason
    assert parts[1].break_reason is None
    assert [tensor.kind for tensor in parts[1].graph.tensors] == ["input"]


def test_parts_are_in_the_order_of_their_first_execution_and_each_is_there_once():
    def body(self, x, y):
        for scale in (1.0, 2.0, 1.0):
            x = scaled(x, scale)
            torch._dynamo.graph_break()
        return x.cos()  # Dynamo runs the whole of a function with a break in a loop in plain Python

    _, parts = both(body)
    assert [part.graph.op_names for part in parts] == [("mul",), ("mul",)]
    assert [node.args[1] for part in parts for node in part.graph.nodes] == [1.0, 2.0]


def scaled(x: torch.Tensor, scale: float) -> torch.Tensor:
    return x * scale


def test_a_gradient_switch_is_no_op_of_the_graph():
    def body(self, x, y):
        return (x * y).requires_grad_(False).cos()

    ours, (part,) = both(body)
    assert part.graph.op_names == ("mul", "cos")
    assert hash_graph(part.graph) == hash_graph(ours)


def test_each_capture_starts_anew():
    def body(self, x, y):
        return x + y

    assert both(body)[1][0].graph == both(body)[1][0].graph


def test_in_place_is_not_out_of_place():
    def inplace(self, x, y):
        return self.linear(x).relu_()

    def out_of_place(self, x, y):
        return self.linear(x).relu()

    ours, _ = both(inplace)
    _, parts = both(out_of_place)
    assert hash_graph(ours).graph_sha256 != hash_graph(parts[0].graph).graph_sha256
    assert explain_difference(ours, parts)[0] == "unexplained"


@pytest.mark.parametrize("operation", ["add", "mul", "eq", "ne", "lt", "gt", "le", "ge", "sub", "truediv", "pow"])
def test_a_number_on_the_left_is_written_alike_by_both_tracers(operation):
    import operator

    def body(self, x, y):
        return getattr(operator, operation)(2, x)

    ours, (part,) = both(body)
    assert hash_graph(part.graph) == hash_graph(ours)


def test_what_forward_raises_is_no_failure_of_dynamo():
    def body(self, x, y):
        raise ValueError("no such head")

    module = Program(body)
    with pytest.raises(SubjectError) as raised:
        capture_parts(module, (torch.ones(2, 4),), subject="s")
    assert raised.value.reason is Reason.FORWARD_FAILED


def test_a_forward_without_tensor_calls_makes_no_graph():
    with pytest.raises(SubjectError) as raised:
        capture_parts(Program(lambda self, x, y: x), (torch.ones(2, 4),), subject="s")
    assert raised.value.reason is Reason.DYNAMO_FAILED


def test_who_asks_whether_it_is_compiled_is_known_by_place_and_gets_the_chosen_answer():
    def body(self, x, y):
        if torch.compiler.is_compiling():
            return x.cos()
        return x.sin() if not is_traced() else x.tan()

    def is_traced() -> bool:
        return torch.compiler.is_dynamo_compiling()

    module, x = Program(body), torch.ones(2, 4)
    ops: list[tuple[str, ...]] = []
    for chosen in ((), (place(body, 1),), (place(body, 3),)):
        with answering(lambda asking, chosen=chosen: any(asking.endswith(name) for name in chosen)) as places:
            ops.append(trace_module(module, (x,), subject="s").graph.op_names)
    assert ops == [("sin",), ("cos",), ("tan",)]
    assert [asking.rpartition("/")[2] for asking in places] == [place(body, 1), place(body, 3)]
    assert not torch.compiler.is_compiling() and not torch.compiler.is_dynamo_compiling()
    with dynamo_denies_compiling():
        (judged,) = capture_parts(module, (x,), subject="s")
    (as_is,) = capture_parts(module, (x,), subject="s")
    assert (judged.graph.op_names, as_is.graph.op_names) == (("sin",), ("cos",))
    assert judged.graph.outputs == (OpRef(0),)


def test_sizes_that_follow_values_are_numbers_unless_values_are_captured():
    def body(self, x, y):
        return (x[x > 0] * 2).sum() + y.sum()

    module, x, y = Program(body).eval(), torch.ones(2, 4), torch.ones(2, 4)
    for part in capture_parts(module, (x,), {"y": y}, subject="s"):
        assert all(type(size) is int for node in part.graph.nodes for out in node.outputs for size in out.shape)
    assert len(capture_parts(module, (x,), {"y": y}, subject="s")) > 1
    assert len(capture_parts(module, (x,), {"y": y}, subject="s", captures_values=True)) == 1
