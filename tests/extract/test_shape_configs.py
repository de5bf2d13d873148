from __future__ import annotations

from fractions import Fraction
from itertools import combinations
from math import prod

import pytest

from extract.shape_configs import (
    AXES,
    BATCH_ONLY,
    CONFIGS,
    HELD_OUT,
    Resize,
    choose_table,
    load_table,
    scale_sizes,
)

NUM_ROWS = len(CONFIGS) + len(HELD_OUT)


@pytest.mark.parametrize("table", load_table())
def test_rows_of_a_table_are_distinct_and_the_first_changes_nothing(table: str) -> None:
    rows = load_table()[table]
    assert len(rows) == NUM_ROWS and rows[0] == {}
    assert len({tuple(sorted(row.items())) for row in rows}) == NUM_ROWS


@pytest.mark.parametrize("table", sorted(set(load_table()) - {BATCH_ONLY}))
def test_two_axes_vary_each_to_three_sizes_within_the_rows_that_are_fitted(table: str) -> None:
    rows = [load_table()[table][config] for config in CONFIGS]
    values = {axis: {row.get(axis, Fraction(1)) for row in rows} for axis in AXES}
    assert sum(len(sizes) >= 3 for sizes in values.values()) >= 2
    assert len(values["batch"]) >= 4


@pytest.mark.parametrize("table", ["image", "multimodal", "video"])
def test_sides_of_an_image_are_told_apart(table: str) -> None:
    assert any(row.get("height") != row.get("width") for row in load_table()[table])


@pytest.mark.parametrize("table", load_table())
def test_held_out_rows_have_a_batch_that_no_other_row_has(table: str) -> None:
    rows = load_table()[table]
    batches = [row.get("batch", Fraction(1)) for row in rows]
    assert all(batches.count(batches[config]) == 1 for config in HELD_OUT)


@pytest.mark.parametrize("table", load_table())
def test_no_two_rows_agree_in_the_batch_times_any_of_the_other_axes(table: str) -> None:
    """Programs that pool an axis away, or flatten the batch with others, must not be the same at two rows. Frames and
    samples are both the time of one signal, and never in one dimension."""
    rows = load_table()[table]
    others = [axis for axis in AXES[1:] if any(axis in row for row in rows)]
    flattened = [axes for number in range(len(others) + 1) for axes in combinations(others, number)]
    for axes in flattened:
        if not {"frames", "samples"} <= set(axes):
            assert len({prod(row.get(axis, Fraction(1)) for axis in ("batch", *axes)) for row in rows}) == NUM_ROWS


@pytest.mark.parametrize("table", load_table())
def test_a_stand_in_has_the_batch_of_the_row_that_it_stands_for(table: str) -> None:
    batches = [[row.get("batch") for row in load_table()[name]] for name in (table, BATCH_ONLY)]
    assert sorted(batches[0][1:10]) == sorted(batches[1][1:10]) and batches[0][10:] == batches[1][10:]


def test_sizes_that_are_not_whole_are_refused() -> None:
    assert scale_sizes({"batch": 1, "height": 224}, {"height": Fraction(3, 2), "width": Fraction(2)}) == {
        "batch": 1,
        "height": 336,
    }
    with pytest.raises(ValueError, match="height would be 15/2"):
        scale_sizes({"height": 15}, {"height": Fraction(1, 2)})


def test_another_size_of_an_axis_is_scaled_as_the_axis_is() -> None:
    resize = Resize({"height": 224, "batch": 1}, {"height": 336, "batch": 1})
    assert resize.changed == {"height"}
    assert (resize.scale(64, "height"), resize.scale(64, "batch"), resize.scale(5, "width")) == (96, 64, 5)
    with pytest.raises(ValueError, match="3/2"):
        resize.scale(1, "height")


def test_table_follows_the_modality_and_where_there_is_none_the_axes() -> None:
    assert choose_table(["text"], ["batch", "sequence"]) == "text"
    assert choose_table(["image", "text"], []) == "multimodal"
    assert choose_table(["time"], []) == "series"
    assert choose_table([], ["batch", "height", "width", "frames"]) == "video"
    assert choose_table([], ["batch", "samples"]) == "audio"
