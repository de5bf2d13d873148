"""The greedy cover takes what a brute force takes, one candidate after the other."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from passbench.cover import Features, distinct_features, greedy_cover, micro_nats


def made(candidates: list[set[int]], weights: list[int]) -> Features:
    pairs = [(owner, feature) for owner, held in enumerate(candidates) for feature in sorted(held)]
    owners, ids = (np.array([pair[side] for pair in pairs], np.int64) for side in (0, 1))
    return distinct_features(owners, ids, np.array(weights, np.int64), len(candidates))


def by_brute_force(candidates: list[set[int]], weights: list[int], num_selected: int, kept: list[int]) -> list[int]:
    taken, covered = list(kept), set().union(*(candidates[place] for place in kept))
    while len(taken) < min(num_selected, len(candidates)):
        left = [place for place in range(len(candidates)) if place not in taken]
        if all(weights[feature] == 0 for place in left for feature in candidates[place] - covered):
            covered = set()
        gains = [sum(weights[feature] for feature in candidates[place] - covered) for place in left]
        taken.append(left[gains.index(max(gains))])
        covered |= candidates[taken[-1]]
    return taken


@given(
    st.lists(st.sets(st.integers(0, 7)), max_size=12),
    st.lists(st.integers(0, 5), min_size=8, max_size=8),
    st.integers(0, 14),
    st.data(),
)
def test_each_step_takes_the_first_of_the_largest_gain(
    candidates: list[set[int]], weights: list[int], num_selected: int, drawn: st.DataObject
) -> None:
    kept = drawn.draw(st.permutations(range(len(candidates))))[:3]
    cover = greedy_cover(made(candidates, weights), num_selected, kept)
    assert cover == by_brute_force(candidates, weights, num_selected, kept)


def test_what_is_rare_counts_more_and_what_is_impossible_is_bounded() -> None:
    assert micro_nats(np.array([1.0, np.exp(-1), 0.0]), np.exp(-20.0)).tolist() == [0, 1_000_000, 20_000_000]


def test_a_cover_that_gains_nothing_more_starts_again() -> None:
    assert greedy_cover(made([{0, 1}, {0}, {1}, {0, 1}], [3, 2]), 3) == [0, 3, 1]


@pytest.mark.parametrize("num_selected", [0, 2])
def test_candidates_without_features_are_taken_in_order(num_selected: int) -> None:
    assert greedy_cover(made([set(), set(), set()], []), num_selected) == list(range(num_selected))
