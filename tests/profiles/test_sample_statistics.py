"""Medians, quartiles and spread: by hand, to the bits of numpy's, and what is refused."""

from __future__ import annotations

import math
import statistics

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from profiles.sample_statistics import iqr_frac, median, quartiles

TIMES = st.lists(st.integers(0, 2**52), min_size=1, max_size=120)
NUMBERS = st.lists(st.floats(-1e150, 1e150), min_size=1, max_size=50)


@pytest.mark.parametrize(
    ("samples", "expected"),
    [
        ([7], (7.0, 7.0, 7.0)),
        ([4, 2], (2.5, 3.0, 3.5)),
        ([3, 1, 2], (1.5, 2.0, 2.5)),
        ([4, 1, 3, 2], (1.75, 2.5, 3.25)),
        ([10, 20, 30, 40, 50], (20.0, 30.0, 40.0)),
        ([5, 5, 5, 5], (5.0, 5.0, 5.0)),
    ],
)
def test_quartiles_by_hand(samples: list[int], expected: tuple[float, float, float]) -> None:
    assert quartiles(samples) == expected
    assert median(samples) == expected[1]


@given(NUMBERS)
def test_quartiles_have_the_bits_of_numpys(samples: list[float]) -> None:
    assert quartiles(samples) == tuple(np.quantile(np.array(samples), [0.25, 0.5, 0.75]).tolist())


@given(TIMES)
def test_the_median_of_whole_nanoseconds_is_that_of_the_standard_library(samples: list[int]) -> None:
    assert median(samples) == statistics.median(samples)


@given(TIMES)
def test_the_order_of_samples_does_not_matter_and_they_stay_as_they_are(samples: list[int]) -> None:
    given_samples = list(samples)
    assert quartiles(samples) == quartiles(reversed(samples))
    assert samples == given_samples


def test_the_spread_is_the_interquartile_range_over_the_median() -> None:
    assert iqr_frac([10, 20, 30, 40, 50]) == 20 / 30
    assert iqr_frac([100]) == 0.0
    assert iqr_frac([100] * 80 + [100_000] * 20) == 0.0


def test_a_spread_over_a_median_of_zero_is_unknown() -> None:
    assert iqr_frac([0, 0, 0]) is None
    assert iqr_frac([0, 0, 0, 8, 8]) is None
    assert iqr_frac([0, 0, 8, 8]) == 2.0


@pytest.mark.parametrize("function", [median, quartiles, iqr_frac])
def test_no_samples_nan_and_infinity_are_refused(function: object) -> None:
    assert callable(function)
    with pytest.raises(ValueError, match="no samples"):
        function([])
    for odd in (math.nan, math.inf, -math.inf):
        with pytest.raises(ValueError, match="finite, 1 are not"):
            function([1.0, odd, 2.0])


def test_a_negative_sample_has_no_spread() -> None:
    with pytest.raises(ValueError, match=r"negative, the least is -3\.0"):
        iqr_frac([5, -3, 5])
    assert median([5, -3, 5]) == 5
