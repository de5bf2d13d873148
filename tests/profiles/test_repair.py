"""Sums of windows held against full counts: every wrong window is found, in few counts."""

from __future__ import annotations

from itertools import accumulate

from hypothesis import given
from hypothesis import strategies as st

from profiles.kernels.repair import Steps, new_stretches, next_position


def repaired(truth: list[int], steps: Steps) -> tuple[list[int], int]:
    """Return K by position as told once sums agree with full counts, and how many of these there were."""
    sums = list(accumulate(truth))
    full = {0: 0, len(truth) - 1: sums[-1]}
    while (position := next_position(steps, full, ())) is not None:
        assert position not in full
        full[position] = sums[position]
    return list(accumulate(steps.corrected(full))), len(full)


def test_one_wrong_window_in_a_thousand_layers_costs_a_search_by_halves() -> None:
    keys: list[str | None] = [None, *("abcd"[at % 4] for at in range(4000))]
    truth = [0, *([1, 0, 2, 0] * 1000)]
    told = [3 if key == "c" else right for key, right in zip(keys, truth, strict=True)]
    found, num_full = repaired(truth, Steps(told, keys))
    assert found == list(accumulate(truth))
    assert num_full <= 16


@given(st.lists(st.tuples(st.integers(0, 8), st.booleans()), min_size=1, max_size=120), st.integers(1, 3))
def test_windows_that_are_wrong_wherever_they_occur_are_put_right_if_sums_show_it(
    places: list[tuple[int, bool]], error: int
) -> None:
    """Errors of one sign cannot hide each other."""
    keys: list[str | None] = [None, *(str(key) for key, _ in places)]
    truth = [0, *(key % 3 for key, _ in places)]
    wrong = {str(key) for key, is_wrong in places if is_wrong}
    told = [right + error * (key in wrong) for key, right in zip(keys, truth, strict=True)]
    found, _ = repaired(truth, Steps(told, keys))
    assert found == list(accumulate(truth))


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(-2, 3)), min_size=1, max_size=80))
def test_a_search_ends_where_equal_windows_stand_for_different_steps(places: list[tuple[int, int]]) -> None:
    keys: list[str | None] = [None, *(str(key) for key, _ in places)]
    truth = [0, *(step for _, step in places)]
    _, num_full = repaired(truth, Steps([0] * len(keys), keys))
    assert num_full <= len(keys)


def test_positions_that_cannot_be_planned_are_passed_by() -> None:
    steps = Steps([0, 1, 1, 1, 1, 1], [None, "a", "b", "c", "d", "e"])
    assert next_position(steps, {0: 0, 5: 6}, ()) == 2
    assert next_position(steps, {0: 0, 5: 6}, (2, 3)) == 1
    assert next_position(steps, {0: 0, 5: 6}, (1, 2, 3, 4)) is None


def test_new_windows_near_each_other_are_one_stretch() -> None:
    keys = [None, "a", "b", "a", "b", "c", *(["a"] * 9), "d", None]
    assert new_stretches(keys, gap=3) == [(0, 5), (14, 15)]
    assert new_stretches(keys, gap=10) == [(0, 15)]
    assert new_stretches([None], gap=3) == []
