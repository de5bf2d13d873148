"""Folding equals a brute force fold by fold, loses nothing, and finds what was planted."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest

from mining import window_search
from mining.folding import FoldingConfig, fold, parse
from mining.grammar import Grammar, Pattern, Span, Symbol, grammar_id, outermost_spans


def order(symbol: Symbol) -> tuple[bool, Symbol]:
    """Op names by code point, then patterns by number."""
    return isinstance(symbol, int), symbol


def count_windows(sequences: Sequence[Sequence[Symbol]], max_length: int) -> dict[tuple[Symbol, ...], int]:
    """Disjoint occurrences, from the left, of every window that there is."""
    counts: dict[tuple[Symbol, ...], int] = {}
    for sequence in sequences:
        ends: dict[tuple[Symbol, ...], int] = {}
        for start in range(len(sequence)):
            for end in range(start + 2, min(start + max_length, len(sequence)) + 1):
                window = tuple(sequence[start:end])
                if start >= ends.get(window, 0):
                    counts[window] = counts.get(window, 0) + 1
                    ends[window] = end
    return counts


def replaced(sequence: Sequence[Symbol], body: tuple[Symbol, ...], number: int) -> list[Symbol]:
    """The sequence with `number` for each occurrence of `body`, from the left."""
    made: list[Symbol] = []
    start = 0
    while start < len(sequence):
        is_match = tuple(sequence[start : start + len(body)]) == body
        made.append(number if is_match else sequence[start])
        start += len(body) if is_match else 1
    return made


def brute_force(sequences: Sequence[Sequence[str]], config: FoldingConfig) -> tuple[Grammar, list[list[Symbol]]]:
    """Count every window, fold by fold."""
    folded: list[list[Symbol]] = [list(sequence) for sequence in sequences]
    patterns: list[Pattern] = []
    for number in range(config.num_folds):
        counted = [Pattern(body, n) for body, n in count_windows(folded, config.max_length).items() if n > 1]
        if not counted:
            break
        best = min(counted, key=lambda p: (-p.score, -len(p.body), [order(symbol) for symbol in p.body]))
        patterns.append(best)
        folded = [replaced(sequence, best.body, number) for sequence in folded]
    return Grammar(tuple(patterns)), folded


def random_corpus(rng: random.Random, num_tokens: int) -> list[list[str]]:
    """Sequences over a small alphabet, with runs and copied stretches, so that windows overlap and tie."""
    alphabet = "abcdef"[: rng.randint(1, 6)]
    sequences: list[list[str]] = []
    left = num_tokens
    while left > 0:
        size = min(left, rng.randint(0, 40))
        sequence = [rng.choice(alphabet) for _ in range(size)]
        if sequences and rng.random() < 0.5:
            other = rng.choice(sequences)
            sequence[rng.randint(0, size) :] = other[: rng.randint(0, len(other))]
        sequences.append(sequence)
        left -= size + 1
    return sequences


@pytest.mark.parametrize("block", range(10))
def test_folds_of_1000_corpora_equal_a_brute_force(block: int) -> None:
    rng = random.Random(1000 + block)
    for _ in range(100):
        check_against_brute_force(rng, 300)


@pytest.mark.parametrize(("name", "value"), [("_MIN_SAMPLE", 4), ("_MAX_CELLS", 40), ("_MAX_CELLS", 0)])
def test_samples_and_sorting_do_not_change_the_folds(name: str, value: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(window_search, name, value)
    rng = random.Random(value)
    for _ in range(60):
        check_against_brute_force(rng, 300)


def check_against_brute_force(rng: random.Random, max_tokens: int) -> None:
    sequences = random_corpus(rng, rng.randint(1, max_tokens))
    config = FoldingConfig(rng.randint(1, 12), rng.choice((2, 3, 9, 64)))
    expected, folded = brute_force(sequences, config)
    grammar = fold(sequences, config)
    assert grammar.patterns == expected.patterns, sequences
    parsed = parse(grammar, sequences)
    assert parsed == [tuple(sequence) for sequence in folded]
    assert [grammar.unfold(symbols) for symbols in parsed] == [tuple(sequence) for sequence in sequences]


def test_the_order_of_graphs_does_not_matter() -> None:
    rng = random.Random(5)
    sequences = [random_corpus(rng, 60)[0] for _ in range(40)]
    shuffled = rng.sample(sequences, len(sequences))
    assert fold(sequences) == fold(shuffled)


@pytest.mark.parametrize("seed", range(8))
def test_planted_motifs_are_recovered(seed: int) -> None:
    rng = random.Random(seed)
    motifs = [tuple(f"m{number}_{place}" for place in range(rng.randint(2, 64))) for number in range(5)]
    noise = iter(range(10**6))
    sequences: list[list[str]] = []
    for _ in range(30):
        sequence: list[str] = []
        for motif in rng.choices(motifs, k=8):
            sequence += [f"n{next(noise)}" for _ in range(rng.randint(1, 3))]
            sequence += motif
        sequences.append(sequence)
    grammar = fold(sequences, FoldingConfig(num_folds=16))
    assert set(motifs) <= set(grammar.expansions)


def test_a_frozen_grammar_reads_graphs_with_ops_it_does_not_know() -> None:
    grammar = Grammar((Pattern(("conv2d", "batch_norm"), 9), Pattern((0, "relu"), 5)))
    sequence = ["conv2d", "batch_norm", "relu", "zeta", "conv2d", "alpha", "conv2d", "batch_norm"]
    assert parse(grammar, [sequence, [], ["alpha"]]) == [(1, "zeta", "conv2d", "alpha", 0), (), ("alpha",)]
    assert (grammar.expansions[1], grammar.depths) == (("conv2d", "batch_norm", "relu"), (1, 2))


def test_a_large_alphabet_is_ranked_by_sorting() -> None:
    names = [f"op{number:05}" for number in range(5000)]
    sequences = [names, names[::-1], [*names[100:130], *names[200:210]]]
    config = FoldingConfig(num_folds=1)
    assert fold(sequences, config).patterns == (Pattern(tuple(names[100:130]), 2),)


def test_spans_are_outermost_within_bounds_and_descend_where_longer() -> None:
    grammar = Grammar((Pattern(("a", "b"), 2), Pattern((0, 0, "c"), 2), Pattern((1, 1, "d"), 2)))
    parsed: tuple[Symbol, ...] = ("x", 2, 1, 0)
    assert list(outermost_spans(grammar, parsed, 4, 62)) == [Span(1, 12, 2), Span(12, 17, 1)]
    assert list(outermost_spans(grammar, parsed, 4, 10)) == [Span(1, 6, 1), Span(6, 11, 1), Span(12, 17, 1)]
    assert [span.start for span in outermost_spans(grammar, parsed, 2, 4)] == [1, 3, 6, 8, 12, 14, 17]


def test_a_grammar_id_is_of_the_set_and_the_configuration() -> None:
    first = grammar_id(["b", "a"], 16, 64)
    assert first == grammar_id(["a", "b", "a"], 16, 64)
    assert first not in (grammar_id(["a"], 16, 64), grammar_id(["a", "b"], 17, 64), grammar_id(["a", "b"], 16, 63))
