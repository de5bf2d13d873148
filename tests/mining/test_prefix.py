"""Plateaus of kernel curves, as definitions.md section 4 has them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mining.prefix import MAX_OPS, Plateau, find_plateaus, lower_envelope

CURVES = st.lists(st.one_of(st.none(), st.integers(0, 6)), max_size=60)


@pytest.mark.parametrize(
    ("kernels", "ranges"),
    [
        ([], []),
        ([1], []),
        ([1, 1], [(0, 2)]),
        ([1, 1, 2, 3, 3, 3], [(0, 2), (3, 6)]),
        ([0, 0, 1, 1], [(2, 4)]),  # ops that launch nothing begin no range
        ([1, 2, 1, 1, 2], [(0, 4)]),  # a fall: the second op joins the first kernel in the end
        ([3, 4, 4, 2], [(0, 4)]),
        ([1, None, 1, 2, 2], [(0, 3), (3, 5)]),
        ([1, 2, 2, None], [(1, 3)]),
        ([None, None], []),
    ],
)
def test_ranges_of_curves_by_hand(kernels: list[int | None], ranges: list[tuple[int, int]]) -> None:
    assert [(plateau.start, plateau.end) for plateau in find_plateaus(kernels)] == ranges


def test_a_long_range_is_marked_and_not_split() -> None:
    (kept, dropped) = find_plateaus([1] * MAX_OPS + [2] * (MAX_OPS + 1))
    assert (kept.end - kept.start, kept.is_too_long) == (MAX_OPS, False)
    assert dropped == Plateau(MAX_OPS, 2 * MAX_OPS + 1, 2)
    assert dropped.is_too_long


@given(CURVES)
def test_the_envelope_is_the_least_count_from_there_on(kernels: list[int | None]) -> None:
    for position, least in enumerate(lower_envelope(kernels)):
        rest = [count for count in kernels[position:] if count is not None]
        assert least == min(rest, default=None)


@given(CURVES)
def test_ranges_are_the_maximal_runs_of_one_count(kernels: list[int | None]) -> None:
    lowered = lower_envelope(kernels)
    found = find_plateaus(kernels)
    covered = [op for plateau in found for op in range(plateau.start, plateau.end)]
    assert covered == sorted(set(covered))
    for plateau in found:
        assert {*lowered[plateau.start : plateau.end]} == {plateau.num_kernels}
        assert plateau.start == 0 or lowered[plateau.start - 1] != plateau.num_kernels
        assert plateau.end == len(kernels) or lowered[plateau.end] != plateau.num_kernels
    for op in range(1, len(kernels)):
        joins = lowered[op] is not None and lowered[op] == lowered[op - 1] and (lowered[op] or 0) >= 1
        assert joins == any(plateau.start < op < plateau.end for plateau in found)
