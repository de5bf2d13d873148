"""Outputs compared: what is alike, what the numbers mean at their edges, and the tolerances of the paper's tables."""

from __future__ import annotations

import math
import struct
from collections import OrderedDict, namedtuple
from collections.abc import Sequence
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from profiles import comparison
from profiles.comparison import TOLERANCES, Comparison, compare, has_nan, tolerance

DTYPES = list(TOLERANCES)
INTEGERS = [torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64, torch.uint16, torch.uint32, torch.uint64]
EQUAL = Comparison(None, False, False, True, 0.0, 0.0, -10)

pytestmark = pytest.mark.filterwarnings("ignore:ComplexHalf support is experimental")


def single(*values: float) -> torch.Tensor:
    return torch.tensor(values, dtype=torch.float32)


def double(*values: float) -> torch.Tensor:
    return torch.tensor(values, dtype=torch.float64)


def differences(expected: Any, got: Any) -> tuple[float | None, float | None, int | None]:
    found = compare(expected, got)
    assert found.reason is None
    return found.max_abs_diff, found.max_rel_diff, found.tolerance_level


# Tolerances


@pytest.mark.parametrize(
    ("dtype", "atol", "rtol"),
    [
        (torch.bfloat16, 1e-5, 1.6e-2),
        (torch.float16, 1e-5, 1e-3),
        (torch.complex32, 1e-5, 1e-3),
        (torch.float32, 1e-5, 1.3e-6),
        (torch.complex64, 1e-5, 1.3e-6),
        (torch.float64, 1e-7, 1e-7),
        (torch.complex128, 1e-7, 1e-7),
    ],
)
def test_tolerances_are_those_of_the_papers_tables(dtype: torch.dtype, atol: float, rtol: float) -> None:
    assert tolerance(dtype, -5) == pytest.approx((atol, rtol), rel=5e-4)  # to the digits of the exponents printed
    assert tolerance(dtype, 0) == (1.0, 1.0)
    for level in range(-10, 0):
        below, above = tolerance(dtype, level), tolerance(dtype, level + 1)
        assert below[0] < above[0] and below[1] < above[1]
        logs = [math.log10(value) for value in (*below, *tolerance(dtype, -1))]
        assert logs[0] == pytest.approx(-level * logs[2]) and logs[1] == pytest.approx(-level * logs[3])


def test_at_minus_five_tolerances_are_the_defaults_of_torch_testing() -> None:
    for dtype in DTYPES:
        rtol, atol = torch.testing._comparison.default_tolerances(dtype)
        assert tolerance(dtype, -5) == pytest.approx((atol, rtol), rel=5e-4)


@pytest.mark.parametrize("dtype", [torch.bool, torch.float8_e4m3fn, *INTEGERS])
def test_other_dtypes_have_no_tolerance(dtype: torch.dtype) -> None:
    assert {tolerance(dtype, level) for level in range(-10, 1)} == {(0.0, 0.0)}


@pytest.mark.parametrize(
    ("expected", "got", "dtype", "level"),
    [
        (0.0, 1e-10, torch.float64, -7),  # atol 10 ** (7t / 5): 10 ** -9.8 at -7, 10 ** -11.2 at -8
        (0.0, 0.99e-3, torch.float32, -3),
        (0.0, 1.01e-3, torch.float32, -2),
        (0.0, 0.99e-10, torch.float32, -10),
        (0.0, 0.9, torch.float32, 0),
        (0.0, 1.1, torch.float32, None),
        (1.0, 1.9, torch.float32, 0),
        (1.0, 3.1, torch.float32, None),  # beyond 1 + 1
        (1000.0, 1001.0, torch.float32, -2),  # 0.01 + 1000 * 10 ** -2.3544 = 4.43; at -3: 0.001 + 0.295
        (1000.0, 1001.0, torch.float16, -5),  # 0.00001 + 1000 * 10 ** -3 = 1.00001; at -6: 0.25
        (1.0, 1.0078125, torch.bfloat16, -5),  # 1 / 128 within 10 ** -1.796 = 0.016; at -6: 0.007
    ],
)
def test_levels_by_hand(expected: float, got: float, dtype: torch.dtype, level: int | None) -> None:
    assert compare(torch.tensor(expected, dtype=dtype), torch.tensor(got, dtype=dtype)).tolerance_level == level


def test_the_level_is_the_worst_of_all_outputs_each_by_its_dtype() -> None:
    one, other = single(0.0), double(0.0)
    assert compare((one, other), (one + 5e-6, other + 5e-6)).tolerance_level == -3  # -5 and -3 by themselves
    assert compare((one, torch.tensor([1])), (one + 5e-6, torch.tensor([1]))).tolerance_level == -5
    assert compare((one, torch.tensor([1])), (one + 5e-6, torch.tensor([2]))).tolerance_level is None


def test_the_expected_value_scales_the_tolerance_and_the_relative_difference() -> None:
    assert differences(double(2.0), double(1.0)) == (1.0, 0.5, 0)
    assert differences(double(1.0), double(2.0)) == (1.0, 1.0, 0)
    assert differences(double(0.25), double(2.25)) == (2.0, 8.0, None)
    assert differences(double(2.25), double(0.25)) == (2.0, 2.0 / 2.25, 0)


# Properties

VALUES = st.floats(width=32, allow_nan=False, allow_infinity=False) | st.sampled_from([0.0, -0.0, math.inf, -math.inf])
NEAR = st.builds(lambda sign, exponent: sign * 10.0**exponent, st.sampled_from([-1, 1]), st.floats(-12, 2))
PAIRS = st.lists(st.tuples(VALUES | NEAR, NEAR | st.just(0.0) | VALUES), min_size=1, max_size=8)


@given(PAIRS, st.sampled_from([dtype for dtype in DTYPES if not dtype.is_complex]))
def test_the_level_is_the_smallest_at_which_torch_finds_all_close(
    pairs: list[tuple[float, float]], dtype: torch.dtype
) -> None:
    expected = torch.tensor([value for value, _ in pairs], dtype=torch.float64).to(dtype)
    got = (expected.double() + torch.tensor([delta for _, delta in pairs], dtype=torch.float64)).to(dtype)
    passing = []
    for level in range(-10, 1):
        atol, rtol = tolerance(dtype, level)
        passing.append(torch.allclose(got.double(), expected.double(), atol=atol, rtol=rtol))
    assert passing == sorted(passing)  # what passes at t passes above
    found = compare(expected, got)
    assert found.tolerance_level == (passing.index(True) - 10 if True in passing else None)
    assert found.has_nan == bool(got.isnan().any())
    assert found.has_new_inf == bool((got.isinf() & expected.isfinite()).any())


@given(PAIRS)
def test_differences_are_those_computed_value_by_value(pairs: list[tuple[float, float]]) -> None:
    def gap(one: float, other: float) -> float:
        return 0.0 if one == other or (math.isnan(one) and math.isnan(other)) else abs(one - other)

    def ratio(one: float, other: float) -> float:
        far = gap(one, other)
        return 0.0 if far == 0 else math.inf if one == 0 or math.isinf(far) else far / abs(one)

    found = compare(double(*[one for one, _ in pairs]), double(*[other for _, other in pairs]))
    assert found.max_abs_diff == max(gap(*pair) for pair in pairs)
    assert found.max_rel_diff == max(ratio(*pair) for pair in pairs)
    assert found.bitwise_equal == all(struct.pack("d", one) == struct.pack("d", other) for one, other in pairs)


@given(PAIRS)
def test_swapped_outputs_are_as_far_apart_and_as_bitwise_equal(pairs: list[tuple[float, float]]) -> None:
    one, other = double(*[value for value, _ in pairs]), double(*[value for _, value in pairs])
    there, back = compare(one, other), compare(other, one)
    assert (there.max_abs_diff, there.bitwise_equal) == (back.max_abs_diff, back.bitwise_equal)


@given(st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1, max_size=6), st.data())
def test_integers_are_exact(expected: list[int], data: st.DataObject) -> None:
    got = [data.draw(st.just(value) | st.integers(-(2**63), 2**63 - 1)) for value in expected]
    gaps = [abs(one - other) for one, other in zip(expected, got, strict=True)]
    found = compare(torch.tensor(expected), torch.tensor(got))
    assert found.max_abs_diff == pytest.approx(max(gaps), rel=1e-15)
    assert (found.max_abs_diff == 0) == (expected == got) == found.bitwise_equal
    assert found.tolerance_level == (-10 if expected == got else None)


@pytest.mark.parametrize("dtype", [*DTYPES, *INTEGERS, torch.bool, torch.float8_e5m2])
def test_a_copy_is_equal_whatever_its_dtype(dtype: torch.dtype) -> None:
    values = torch.arange(6).reshape(2, 3).to(dtype)
    assert compare(values, values.clone()) == EQUAL
    assert compare(values, values.t().contiguous().t()) == EQUAL
    changed = values.clone()
    changed[1, 2] = 0
    found = compare(values, changed)
    assert found.bitwise_equal is False and found.max_abs_diff == (1.0 if dtype == torch.bool else 5.0)
    assert found.max_rel_diff == 1.0
    assert found.tolerance_level == (0 if dtype in TOLERANCES else None)


# Edges


def test_integers_beyond_what_a_double_holds_are_told_apart() -> None:
    assert differences(torch.tensor([2**53]), torch.tensor([2**53 + 1])) == (1.0, 2.0**-53, None)
    least, most = torch.tensor([-(2**63)]), torch.tensor([2**63 - 1])
    assert differences(least, most) == (2.0**64, 2.0, None)
    unsigned = [torch.tensor([value], dtype=torch.uint64) for value in (1, 2, 2**63, 2**64 - 1)]
    assert differences(unsigned[0], unsigned[1]) == (1.0, 1.0, None)
    assert differences(unsigned[1], unsigned[0]) == (1.0, 0.5, None)
    assert differences(unsigned[3], unsigned[0]) == (2.0**64, 1.0, None)
    assert differences(unsigned[2], unsigned[3]) == (2.0**63, 1.0, None)


def test_a_sign_of_zero_is_no_difference_but_not_the_same_bits() -> None:
    assert compare(single(0.0), single(-0.0)) == Comparison(None, False, False, False, 0.0, 0.0, -10)
    assert compare(0.0, -0.0).bitwise_equal is False


def test_payloads_of_nan_are_bits() -> None:
    one = torch.tensor([0x7FC00000, 0x3F800000], dtype=torch.int32).view(torch.float32)
    other = torch.tensor([0x7FC00001, 0x3F800000], dtype=torch.int32).view(torch.float32)
    assert compare(one, one.clone()) == Comparison(None, True, False, True, 0.0, 0.0, None)
    assert compare(one, other) == Comparison(None, True, False, False, 0.0, 0.0, None)


@pytest.mark.parametrize(
    ("expected", "got", "found"),
    [
        (1.0, math.nan, Comparison(None, True, False, False, math.inf, math.inf, None)),
        (math.nan, 1.0, Comparison(None, False, False, False, math.inf, math.inf, None)),
        (1.0, math.inf, Comparison(None, False, True, False, math.inf, math.inf, None)),
        (math.inf, 1.0, Comparison(None, False, False, False, math.inf, math.inf, None)),
        (math.inf, math.inf, EQUAL),
        (-math.inf, math.inf, Comparison(None, False, False, False, math.inf, math.inf, None)),
        (math.nan, math.inf, Comparison(None, False, False, False, math.inf, math.inf, None)),
        (0.0, 5e-324, Comparison(None, False, False, False, 5e-324, math.inf, -10)),
        (1.5e308, -1.5e308, Comparison(None, False, False, False, math.inf, math.inf, None)),
    ],
)
def test_values_that_are_not_finite(expected: float, got: float, found: Comparison) -> None:
    assert compare(double(expected), double(got)) == found
    assert compare((double(1.0), expected), [double(1.0), got]) == found


def test_infinities_that_are_equal_leave_the_rest_to_be_judged() -> None:
    assert differences(single(math.inf, 1.0), single(math.inf, 1.5)) == (0.5, 0.5, 0)


def test_complex_values_are_compared_as_such() -> None:
    one, other = torch.tensor([3 + 4j]), torch.tensor([3 + 4.5j])
    assert differences(one, other) == (0.5, 0.1, 0)
    assert compare(one.conj(), (3 - 4j) * torch.ones(1, dtype=torch.complex64)) == EQUAL
    assert compare(one.conj().imag, single(-4.0)) == EQUAL
    assert compare(one, torch.complex(single(3.0), single(math.nan))).has_nan
    assert compare(one, torch.complex(single(math.inf), single(4.0))).has_new_inf
    zero, negative = torch.zeros(1, dtype=torch.complex64), torch.complex(single(0.0), single(-0.0))
    assert compare(zero, negative) == Comparison(None, False, False, False, 0.0, 0.0, -10)
    half = one.to(torch.complex32)
    assert differences(half, other.to(torch.complex32)) == (0.5, 0.1, -1)  # 0.1 + 5 * 10 ** -0.6


def test_half_precision_is_compared_beyond_its_own_range_and_digits() -> None:
    big = torch.tensor([60_000.0], dtype=torch.float16)
    assert compare(big, -big).max_abs_diff == 120_000.0
    one = torch.tensor([1.0], dtype=torch.bfloat16)
    assert differences(one, torch.nextafter(one, one * 2)) == (0.0078125, 0.0078125, -5)


def test_outputs_without_elements_are_equal_and_their_shapes_count() -> None:
    assert compare((), []) == EQUAL
    assert compare(None, None) == EQUAL
    assert compare(torch.empty(0, 3), torch.empty(0, 3)) == EQUAL
    assert compare(torch.empty(0, 3), torch.empty(3, 0)).reason == "outputs: float32 [3, 0], expected float32 [0, 3]"


@pytest.mark.parametrize("piece", [1, 2, 7, 100])
def test_pieces_change_nothing(piece: int, monkeypatch: pytest.MonkeyPatch) -> None:
    torch.manual_seed(0)
    whole = torch.randn(3, 4, 5).transpose(0, 2)
    got = whole + torch.randn(5, 4, 3) * 1e-3
    got[4, 3, 2] = math.inf
    before = compare([whole, whole.int(), single(1.0)], [got, got.int(), single(1.0)])
    monkeypatch.setattr(comparison, "_PIECE", piece)
    assert compare([whole, whole.int(), single(1.0)], [got, got.int(), single(1.0)]) == before
    parts = list(comparison._pieces(whole, got))
    assert sum(part.numel() for part, _ in parts) == 60
    assert max(part.numel() for part, _ in parts) <= piece
    assert all(part.untyped_storage().data_ptr() == whole.untyped_storage().data_ptr() for part, _ in parts)


def test_a_tensor_that_repeats_one_value_is_not_copied() -> None:
    wide = torch.ones(()).expand(1 << 10, 1 << 9)
    assert compare(wide, wide) == EQUAL
    assert compare(wide, wide + 1).max_abs_diff == 1.0


def test_outputs_that_share_memory_are_compared_and_left_as_they_are() -> None:
    base = torch.arange(6.0)
    expected, got = (base, base[1:4], base.view(2, 3)), (base + 1, base[1:4] + 1, base.view(2, 3) + 1)
    kept = base.clone()
    assert compare(expected, got).max_abs_diff == 1.0
    assert torch.equal(base, kept)


def test_parameters_and_results_of_autograd_are_tensors() -> None:
    weight = torch.nn.Parameter(single(1.0))
    assert compare(weight, weight * 1) == EQUAL


def test_sparse_tensors_are_compared_by_value_and_layout() -> None:
    dense = single(0.0, 2.0)
    assert compare(dense.to_sparse(), dense.to_sparse()) == EQUAL
    assert compare(dense.to_sparse(), dense.to_sparse() * 2).max_abs_diff == 2.0
    assert compare(dense.to_sparse(), dense).reason == "outputs: float32 [2], expected float32 [2] torch.sparse_coo"


# Structure

Pair = namedtuple("Pair", "first second")


def test_sequences_are_alike_whatever_their_type_and_so_are_mappings() -> None:
    one, other = single(1.0), single(2.0)
    for alike in ([one, other], (one, other), Pair(one, other), torch.stack([one, other]).unbind()):
        assert compare((one, other), alike) == EQUAL
    assert compare({"a": one, "b": other}, OrderedDict(b=other, a=one)) == EQUAL
    assert compare(torch.max(torch.eye(2), 0), tuple(torch.max(torch.eye(2), 0))) == EQUAL
    nested = {"logits": (one, [other, None, ()]), "loss": 1.5, "name": "x"}
    assert compare(nested, {"name": "x", "loss": 1.5, "logits": [one, (other, None, [])]}) == EQUAL


@pytest.mark.parametrize(
    ("expected", "got", "reason"),
    [
        (single(1), (single(1),), "outputs: a sequence of 1, expected float32 [1]"),
        ((single(1),), (single(1), single(1)), "outputs: a sequence of 2, expected a sequence of 1"),
        ((1, (2, [3, None])), (1, (2, [3, 4])), "outputs[1][1][1]: int, expected None"),
        ({"a": 1}, {"a": 1, "b": 2}, "outputs: a mapping of ['a', 'b'], expected a mapping of ['a']"),
        ({"a": {"b\n": 1}}, {"a": {"b\n": 1.0}}, "outputs['a']['b\\n']: float, expected int"),
        ({"a": 1}, [1], "outputs: a sequence of 1, expected a mapping of ['a']"),
        (single(1), single(1).half(), "outputs: float16 [1], expected float32 [1]"),
        (single(1), single(1).reshape(()), "outputs: float32 [], expected float32 [1]"),
        (torch.tensor(1), 1, "outputs: int, expected int64 []"),
        (True, 1, "outputs: int, expected bool"),
        (1, 1.0, "outputs: float, expected int"),
        ("a", "b", "outputs: 'b', expected 'a'"),
        (None, "None", "outputs: 'None', expected None"),
        (2**70, 2**70 + 1, f"outputs: int {2**70 + 1}, expected int {2**70}"),
    ],
)
def test_the_first_difference_is_told_in_one_line(expected: Any, got: Any, reason: str) -> None:
    assert compare(expected, got) == Comparison(reason, has_nan=False)
    assert "\n" not in reason


def test_outputs_that_are_not_alike_are_still_searched_for_nan() -> None:
    assert compare(single(1.0), (single(1.0), single(math.nan))).has_nan
    assert compare(single(math.nan), (single(1.0), 1)).has_nan is False


@pytest.mark.parametrize(
    ("outputs", "found"),
    [
        ((single(1.0), {"a": [torch.tensor(math.nan, dtype=torch.bfloat16)]}), True),
        (float("nan"), True),
        (complex(0, math.nan), True),
        (torch.tensor([math.inf]), False),
        (torch.tensor([1, 2]), False),
        (torch.empty(0), False),
        (None, False),
        (torch.tensor([math.nan]).to(torch.float8_e4m3fn), True),
    ],
)
def test_nan_is_found_anywhere(outputs: Any, found: bool) -> None:
    assert has_nan(outputs) is found


@pytest.mark.parametrize(
    ("number", "other", "far"), [(1, 3, 2.0), (True, False, 1.0), (1.5, 1.25, 0.25), (3 + 4j, 3 + 0j, 4.0)]
)
def test_numbers_are_compared_as_values(number: complex, other: complex, far: float) -> None:
    assert compare([number], [number]) == EQUAL
    assert compare([number], [other]).max_abs_diff == far


@pytest.mark.parametrize(
    ("odd", "says"),
    [
        (object(), r"outputs\[0\]: a object is no output"),
        (torch.empty(2, device="meta"), r"outputs\[0\]: a tensor without values"),
        (torch.zeros(2, dtype=torch.uint8).view(torch.bits8), r"outputs\[0\]: tensors of torch.bits8"),
    ],
)
def test_what_is_no_output_is_refused(odd: Any, says: str) -> None:
    with pytest.raises(TypeError, match=says):
        compare([odd], [odd])


def test_the_worst_of_several_outputs_counts() -> None:
    expected: Sequence[torch.Tensor] = [single(1.0, 2.0), double(4.0)]
    found = compare(expected, [single(1.0, 2.5), double(5.0)])
    assert (found.max_abs_diff, found.max_rel_diff, found.bitwise_equal) == (1.0, 0.25, False)
    assert compare(expected, [single(1.0, 2.0), double(4.0)]) == EQUAL
