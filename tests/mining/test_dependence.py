"""What ops depend on: by hand-made graphs, and against what variants of a real model show."""

from __future__ import annotations

from mining.dependence import Dependence, Reads


def flags(*ops: Reads) -> list[tuple[bool, bool]]:
    dependence = Dependence()
    return [dependence.add(op) for op in ops]


def op(*ops: int, input: bool = False, tensor: bool = False, is_float: bool = True, is_cast: bool = False) -> Reads:
    return Reads(ops, input, tensor or input, is_float, is_cast)


def test_what_is_computed_from_an_input_depends_on_it_through_any_number_of_ops() -> None:
    found = flags(op(input=True), op(tensor=True), op(1), op(0, 2), op(2))
    assert [on_input for on_input, _ in found] == [True, False, False, True, False]


def test_floats_follow_the_models_dtype_until_a_call_names_its_own() -> None:
    found = flags(op(tensor=True), op(0, is_cast=True), op(1), op(0, 2), op(3))
    assert [on_dtype for _, on_dtype in found] == [True, True, False, True, True]


def test_integers_follow_no_dtype_and_what_is_made_of_them_neither() -> None:
    found = flags(op(input=True, is_float=False), op(0, is_float=False), op(1, is_cast=True), op(2))
    assert found == [(True, False)] * 4


def test_a_comparison_of_floats_differs_by_dtype_and_what_is_made_of_it_does_not() -> None:
    assert flags(op(tensor=True), op(0, is_float=False), op(1, is_float=False))[1:] == [(False, True), (False, False)]
