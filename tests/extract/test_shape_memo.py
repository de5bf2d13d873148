from __future__ import annotations

import pytest
import torch

from extract.shape_memo import ShapeMemo


@pytest.fixture
def x() -> torch.Tensor:
    return torch.empty(2, 4, device="meta")


def test_a_call_seen_before_returns_fresh_tensors_of_the_same_layout(x):
    memo = ShapeMemo()
    first, again = memo.call(torch.Tensor.mT.__get__, (x,), {}), memo.call(torch.Tensor.mT.__get__, (x,), {})
    assert memo.num_hits == 1
    assert first is not again
    assert (first.shape, first.stride(), first.dtype) == (again.shape, again.stride(), again.dtype)


def test_what_the_program_does_to_an_outcome_does_not_change_the_memory(x):
    memo = ShapeMemo()
    memo.call(torch.add, (x, 1), {}).transpose_(0, 1)
    assert memo.call(torch.add, (x, 1), {}).shape == (2, 4)
    memo.call(torch.add, (x, 1), {}).transpose_(0, 1)
    assert memo.call(torch.add, (x, 1), {}).shape == (2, 4)


def test_an_in_place_call_returns_its_operand(x):
    memo = ShapeMemo()
    y = torch.empty(2, 4, device="meta")
    assert memo.call(torch.Tensor.add_, (x, 1), {}) is x
    assert memo.call(torch.Tensor.add_, (y, 1), {}) is y
    assert memo.num_hits == 1


def test_a_call_that_changes_its_operands_layout_is_made_each_time(x):
    memo = ShapeMemo()
    memo.call(torch.Tensor.unsqueeze_, (x, 0), {})
    y = torch.empty(2, 4, device="meta")
    assert memo.call(torch.Tensor.unsqueeze_, (y, 0), {}).shape == (1, 2, 4)


def test_numbers_of_different_types_are_different_calls():
    memo, integers = ShapeMemo(), torch.empty(2, dtype=torch.int64, device="meta")
    dtypes = [memo.call(torch.mul, (integers, factor), {}).dtype for factor in (1, 1.0, True)]
    assert dtypes == [torch.int64, torch.float32, torch.int64]
    assert memo.num_hits == 0


def test_named_tuples_keep_their_type_and_errors_are_not_remembered(x):
    memo = ShapeMemo()
    for _ in range(2):
        assert memo.call(torch.max, (x,), {"dim": 1}).indices.dtype is torch.int64
        with pytest.raises(RuntimeError):
            memo.call(torch.Tensor.view, (x, 3), {})


def test_complex_operands_keep_their_conjugate_bit():
    memo, numbers = ShapeMemo(), torch.empty(2, 2, dtype=torch.complex64, device="meta")
    for _ in range(2):
        assert memo.call(torch.conj, (numbers,), {}).is_conj()
    assert memo.num_hits == 0


def test_the_memory_is_bounded(x):
    memo = ShapeMemo(max_calls=3)
    for value in range(10):
        memo.call(torch.add, (x, value), {})
    assert len(memo._outcomes) <= 3


def test_a_call_made_for_its_effect_is_made_each_time(x):
    memo = ShapeMemo()
    for _ in range(2):
        y = torch.empty(3, device="meta")
        memo.call(torch.Tensor.data.__set__, (y, x), {})
        assert y.shape == (2, 4)
    assert memo.num_hits == 0
