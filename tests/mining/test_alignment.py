"""Alignments: an op has an image exactly when every longest common subsequence gives it that one."""

from __future__ import annotations

import random
import time
from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mining.alignment import align

OPS = st.lists(st.sampled_from("abc"), max_size=8)


def optimal_alignments(base: str, variant: str) -> set[tuple[tuple[int, int], ...]]:
    """All longest sets of pairs of equal ops in order, by trying every set."""

    @cache
    def from_here(op: int, place: int) -> frozenset[tuple[tuple[int, int], ...]]:
        if op == len(base) or place == len(variant):
            return frozenset({()})
        found = from_here(op + 1, place) | from_here(op, place + 1)
        if base[op] == variant[place]:
            found |= {((op, place), *rest) for rest in from_here(op + 1, place + 1)}
        longest = max(map(len, found))
        return frozenset(pairs for pairs in found if len(pairs) == longest)

    return set(from_here(0, 0))


@given(OPS, OPS)
def test_images_are_what_all_longest_common_subsequences_agree_on(base: list[str], variant: list[str]) -> None:
    alignments = [dict(pairs) for pairs in optimal_alignments("".join(base), "".join(variant))]
    alignment = align(base, variant)
    if base == variant:
        assert alignment.is_identity
        return
    for op in range(len(base)):
        images = {pairs.get(op) for pairs in alignments}
        assert alignment.images[op] == (images.pop() if len(images) == 1 else None)


@given(OPS, OPS)
def test_a_range_has_an_image_only_where_the_variant_has_its_ops_in_one_piece(
    base: list[str], variant: list[str]
) -> None:
    alignment = align(base, variant)
    for start in range(len(base)):
        for end in range(start + 1, len(base) + 1):
            image = alignment.image(start, end)
            whole = all(alignment.image(op, op + 1) for op in range(start, end))
            if image is None:
                places = [alignment.images[op] for op in range(start, end)]
                assert not whole or places != list(range(places[0] or 0, (places[0] or 0) + end - start))
            else:
                assert variant[slice(*image)] == base[start:end]


@pytest.mark.parametrize(
    ("base", "variant", "start", "end", "image"),
    [
        ("abc", "abc", 0, 3, (0, 3)),
        ("abcd", "xabcd", 0, 4, (1, 5)),
        ("abcd", "abxcd", 0, 2, (0, 2)),
        ("abcd", "abxcd", 2, 4, (3, 5)),
        ("abcd", "abxcd", 1, 3, None),  # an op came in between
        ("ab", "aab", 0, 2, None),  # which `a` is the new one?
        ("ab", "aab", 1, 2, (2, 3)),
        ("aab", "ab", 0, 1, None),  # which `a` went?
        ("abab", "ab", 0, 2, None),
        ("abc", "xyz", 0, 1, None),
    ],
)
def test_images_by_hand(base: str, variant: str, start: int, end: int, image: tuple[int, int] | None) -> None:
    assert align(base, variant).image(start, end) == image


@pytest.mark.parametrize(("start", "end"), [(0, 0), (2, 1), (-1, 1), (0, 4)])
def test_what_is_no_range_of_the_base_is_refused(start: int, end: int) -> None:
    for variant in ("abc", "abd"):
        with pytest.raises(ValueError, match="no range"):
            align("abc", variant).image(start, end)


@given(st.integers(0, 60), st.integers(0, 2**32))
def test_an_op_of_a_new_name_put_in_leaves_every_other_its_image(place: int, seed: int) -> None:
    draw = random.Random(seed)
    base = [draw.choice("abcdef") for _ in range(60)]
    alignment = align(base, [*base[:place], "new", *base[place:]])
    assert list(alignment.images) == [op if op < place else op + 1 for op in range(60)]


def test_twenty_thousand_ops_that_share_little_take_no_more_than_seconds() -> None:
    draw = random.Random(0)
    base = [draw.choice(["linear", "add", "view", "relu", "mul"]) for _ in range(20_000)]
    variant = [draw.choice(["linear", "add", "view", "relu", "cat"]) for _ in range(20_000)]
    started = time.process_time()
    align(base, variant)
    assert time.process_time() - started < 5  # 0.2 s on an idle core
