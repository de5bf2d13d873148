"""Selections are deterministic, prefer what is rare, keep what a release had, and cover more than chance does."""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Callable
from itertools import pairwise

import pytest

from passbench.hmm import UNK, Hmm, HmmConfig, decode_states, fit_hmm
from passbench.op_sequence import OpSequence
from passbench.selection import Coverage, coverage, select_at_random, select_by_hmm, select_by_markov

# Two states: the first likes linear, the second all that follows it.
HMM = Hmm(
    HmmConfig(num_states=2),
    ("add", "gelu", "linear", UNK),
    (0.9, 0.1),
    ((0.2, 0.8), (0.3, 0.7)),
    ((0.05, 0.0, 0.9, 0.05), (0.5, 0.3, 0.1, 0.1)),
)


def made(listed: list[tuple[str, ...]], num_instances: int = 1) -> list[OpSequence]:
    return [
        OpSequence("fusible", ops, f"{number:032x}", num_instances, frozenset({f"family{number % 7}"}))
        for number, ops in enumerate(listed)
    ]


def skewed_sequences(num_sequences: int = 400, seed: int = 1) -> list[OpSequence]:
    """Sequences in which an op is the rarer the later its name: most alike, a few of rare ops."""
    drawn = random.Random(seed)
    names = [f"op{number:02}" for number in range(40)]
    weights = [1 / (number + 1) ** 2 for number in range(40)]
    return made([tuple(drawn.choices(names, weights, k=drawn.randint(2, 9))) for _ in range(num_sequences)])


def by_hmm(sequences: list[OpSequence], num_selected: int, kept: tuple[str, ...] = ()) -> list[OpSequence]:
    return select_by_hmm(sequences, HMM, num_selected, kept)


Select = Callable[..., list[OpSequence]]
SELECTIONS = pytest.mark.parametrize("select", [by_hmm, select_by_markov, select_at_random])


@SELECTIONS
def test_a_selection_does_not_depend_on_the_order_of_rows(select: Select) -> None:
    sequences = skewed_sequences()
    selected = select(sequences, 20)
    assert len(set(selected)) == 20
    assert select(sequences[::-1], 20) == selected


@SELECTIONS
def test_a_smaller_selection_is_the_beginning_of_a_larger_one(select: Select) -> None:
    sequences = skewed_sequences()
    assert select(sequences, 60)[:20] == select(sequences, 20)


@SELECTIONS
def test_a_corpus_of_too_few_sequences_is_selected_whole(select: Select) -> None:
    sequences = skewed_sequences(30)
    assert set(select(sequences, 200)) == set(sequences)
    assert select([], 200) == []


@SELECTIONS
def test_what_a_release_had_stays_when_a_corpus_grows(select: Select) -> None:
    sequences = skewed_sequences()
    before = tuple(sequence.op_sequence_xxh3 for sequence in select(sequences[:300], 20))
    after = select(sequences, 25, kept=before)
    assert tuple(sequence.op_sequence_xxh3 for sequence in after[:20]) == before
    assert len(set(after)) == 25
    with pytest.raises(ValueError, match="among these"):
        select(sequences, 25, kept=("gone",))


@SELECTIONS
def test_a_sequence_given_twice_or_empty_is_refused(select: Select) -> None:
    (sequence,) = made([("add",)])
    with pytest.raises(ValueError, match="twice"):
        select([sequence, sequence], 1)
    with pytest.raises(ValueError, match="no op"):
        select(made([()]), 1)


def test_the_hmm_cover_takes_the_largest_sum_of_logarithms_at_each_step() -> None:
    sequences = skewed_sequences(60)
    renamed = {"op00": "add", "op01": "gelu", "op02": "linear"}
    sequences = made([tuple(renamed.get(op, op) for op in sequence.op_sequence) for sequence in sequences])

    def features(sequence: OpSequence) -> dict[tuple[str, int, int], float]:
        states = decode_states(HMM, [sequence.op_sequence]).tolist()
        places = [HMM.vocabulary.index(op) if op in HMM.vocabulary else 3 for op in sequence.op_sequence]
        moves = {("move", a, b): -math.log(HMM.transmat[a][b]) for a, b in pairwise(states)}
        shown = {("show", s, p): -math.log(HMM.emissionprob[s][p]) for s, p in zip(states, places, strict=True)}
        return moves | shown

    covered: set[tuple[str, int, int]] = set()
    for selected in by_hmm(sequences, 3):
        gains = {
            s.op_sequence_xxh3: round(sum(gain for name, gain in features(s).items() if name not in covered), 5)
            for s in sequences
        }
        largest = max(gains.values())
        if largest > 0:  # else a second round
            assert selected.op_sequence_xxh3 == min(key for key, gain in gains.items() if gain == largest)
        covered |= features(selected).keys()


def test_the_markov_cover_prefers_a_pair_that_is_rare() -> None:
    sequences = made([("add", "relu")] + [("add", "relu") * k for k in (2, 3)] + [("erf", "tan")])
    assert [sequence.op_sequence for sequence in select_by_markov(sequences, 1)] == [("erf", "tan")]


def test_covers_hold_more_pairs_and_ops_than_chance() -> None:
    sequences = skewed_sequences()
    hmm = fit_hmm(sequences, HmmConfig(num_states=6, num_iterations=10))
    chance = coverage(select_at_random(sequences, 30), sequences)
    covers = select_by_hmm(sequences, hmm, 30), select_by_markov(sequences, 30)
    for field in ("transition_frac", "transition_weighted_frac", "op_frac", "op_weighted_frac"):
        for selected in covers:
            assert getattr(coverage(selected, sequences), field) > getattr(chance, field), field


def test_seeds_make_other_random_choices() -> None:
    sequences = skewed_sequences()
    assert select_at_random(sequences, 20, seed=1) != select_at_random(sequences, 20, seed=2)


def test_a_random_choice_is_spread_evenly() -> None:
    sequences = skewed_sequences(20)
    taken = Counter(s for seed in range(400) for s in select_at_random(sequences, 5, seed=seed))
    assert all(60 < taken[sequence] < 140 for sequence in sequences)


def test_coverage_counts_distinct_and_weighted_shares() -> None:
    lonely = OpSequence("fusible", ("erf",), "f" * 32, 5, frozenset({"family0", "family9"}))
    sequences = [*made([("add", "relu"), ("add", "relu", "add")], 3), lonely]
    assert coverage(sequences[:1], sequences) == Coverage(1, 3, 1 / 2, 6 / 9, 2 / 3, 15 / 20, 1, 1 / 3)
    assert coverage([], []) == Coverage(0, 0, None, None, None, None, 0, None)
    assert coverage(sequences[2:], sequences[2:]).transition_frac is None
