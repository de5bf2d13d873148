"""Calls that differ in their operands alone have one form, and what is made of it can be filled in."""

from __future__ import annotations

from extract.call_forms import FormMemo, call_form, fill_slots, with_slots
from extract.graph import Arg, ArgList, ArgSlice, Node, OpRef, Ref, TensorRef


def call(*args: Arg, **kwargs: Arg) -> Node:
    return Node("add", "torch.add", args, tuple(kwargs.items()))


def test_operands_are_no_part_of_a_form_wherever_they_stand() -> None:
    one = call(TensorRef(0), ArgList((OpRef(1), 2)), out=(ArgSlice(None, OpRef(3, (1,)), 1),))
    other = call(OpRef(7), ArgList((TensorRef(5), 2)), out=(ArgSlice(None, TensorRef(0), 1),))
    assert call_form(one)[0] == call_form(other)[0]
    assert call_form(other)[1] == [OpRef(7), TensorRef(5), TensorRef(0)]


def test_literals_of_other_types_and_other_places_are_other_forms() -> None:
    calls = [
        call(1), call(1.0), call(True), call("1"), call("@"), call(TensorRef(0)), call((1,)), call(ArgList((1,))),
        call(alpha=1), call("alpha", 1), call(0.0), call(-0.0), call("TensorRef(index=-1)"), call((TensorRef(0),)),
    ]  # fmt: skip
    assert len({call_form(node)[0] for node in calls}) == len(calls)


def test_filled_slots_give_the_call_back() -> None:
    node = call(TensorRef(0), (OpRef(1), ArgList((OpRef(1, (2,)),))), dim=3)
    refs = call_form(node)[1]
    slotted = with_slots(node)
    assert tuple(fill_slots(arg, refs) for arg in slotted.args) == node.args
    assert slotted.kwargs == node.kwargs


def test_a_form_is_made_once_until_memory_is_full() -> None:
    made: list[Node] = []
    memo = FormMemo(lambda node: made.append(node) or len(made), max_forms=2)

    def find(*args: Arg) -> int:
        node = call(*args)
        return memo.find(call_form(node)[0])

    refs: tuple[Ref, Ref] = (TensorRef(0), OpRef(1))
    assert [find(ref, 1) for ref in refs] == [1, 1]
    assert [find(TensorRef(0), 2), find(TensorRef(0), 3), find(TensorRef(0), 1)] == [2, 3, 4]
    assert made[0].args[0] == TensorRef(-1)
