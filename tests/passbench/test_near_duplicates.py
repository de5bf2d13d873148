"""Estimates are near the Jaccard similarity, and no pair that reaches the least one is missed."""

from __future__ import annotations

import random

import numpy as np
import pytest

from passbench.near_duplicates import MinHashConfig, NearDuplicate, near_duplicates, sign
from passbench.op_sequence import OpSequence


def made(listed: list[tuple[str, ...]], side: str, kind: str = "fusible") -> list[OpSequence]:
    return [OpSequence(kind, ops, f"{side}{number:04}", 1, frozenset()) for number, ops in enumerate(listed)]


def jaccard(first: tuple[str, ...], second: tuple[str, ...]) -> float:
    sets = [set(zip(ops, ops[1:], ops[2:], strict=False)) for ops in (first, second)]
    return len(sets[0] & sets[1]) / len(sets[0] | sets[1])


def mutated(ops: tuple[str, ...], drawn: random.Random) -> tuple[str, ...]:
    changed = list(ops)
    for _ in range(drawn.randint(0, 3)):
        changed[drawn.randrange(len(changed))] = f"other{drawn.randrange(9)}"
    return tuple(changed)


@pytest.fixture(scope="module")
def two_sides() -> tuple[list[OpSequence], list[OpSequence]]:
    drawn = random.Random(4)
    first = [tuple(drawn.choices([f"op{n}" for n in range(30)], k=drawn.randint(20, 50))) for _ in range(60)]
    second = [mutated(ops, drawn) for ops in first * 2]
    return made(first, "e"), made(second, "t")


def test_no_pair_that_reaches_the_least_estimate_is_missed(
    two_sides: tuple[list[OpSequence], list[OpSequence]],
) -> None:
    evaluation, training = two_sides
    for config in (MinHashConfig(), MinHashConfig(least_jaccard=0.3), MinHashConfig(num_permutations=64, seed=9)):
        signatures = [sign([s.op_sequence for s in side], config) for side in two_sides]
        expected = [
            NearDuplicate("fusible", e.op_sequence_xxh3, "fusible", t.op_sequence_xxh3, share)
            for e, of_e in zip(evaluation, signatures[0], strict=True)
            for t, of_t in zip(training, signatures[1], strict=True)
            if (share := float(np.mean(of_e == of_t))) >= config.least_jaccard
        ]
        assert near_duplicates(evaluation[::-1], training[::-1], config) == expected
        assert expected


def test_estimates_are_near_the_similarity(two_sides: tuple[list[OpSequence], list[OpSequence]]) -> None:
    evaluation, training = two_sides
    signatures = [sign([s.op_sequence for s in side], MinHashConfig()) for side in two_sides]
    errors = [
        float(np.mean(of_e == of_t)) - jaccard(e.op_sequence, t.op_sequence)
        for e, of_e in zip(evaluation, signatures[0], strict=True)
        for t, of_t in zip(training, signatures[1], strict=True)
    ]
    assert max(map(abs, errors)) < 0.18  # four standard errors of 128 draws
    assert abs(np.mean(errors)) < 0.005


def test_repeats_and_short_sequences() -> None:
    (once,), (twice,) = made([("add", "mul", "add", "mul", "add")], "e"), made([("add", "mul") * 6], "t", "classical")
    assert near_duplicates([once], [twice]) == [NearDuplicate("fusible", "e0000", "classical", "t0000", 1.0)]
    assert near_duplicates(made([("add",)], "e"), made([("add", "mul"), ("mul",)], "t")) == []
    assert len(near_duplicates(made([("add",)], "e"), made([("add",)], "t"))) == 1
    assert near_duplicates([], [once]) == near_duplicates([once], []) == []


def test_orders_make_whole_bands() -> None:
    with pytest.raises(ValueError, match="multiple of 4"):
        near_duplicates([], [], MinHashConfig(num_permutations=130))
