"""Recursive Folding: op sequences of graphs to a grammar of their recurring parts, and sequences to parses by it.

Each fold takes the pattern of 2 to `max_length` symbols with the largest (length - 1) x (disjoint count - 1), ties to
the longer, then to the lexicographically smaller (op names by code point, then patterns by number), and puts one new
symbol in its place, from the left, never across graphs. The order of the graphs does not matter.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from mining.grammar import Grammar, Pattern, Symbol
from mining.window_search import SEPARATOR, Room, Tokens, find_best_window, replace_window


@dataclass(frozen=True, slots=True)
class FoldingConfig:
    """How many folds at most, and the longest pattern, in symbols (the paper's are 16 and 64)."""

    num_folds: int = 16
    max_length: int = 64


def fold(sequences: Iterable[Sequence[str]], config: FoldingConfig | None = None) -> Grammar:
    """Learn the grammar of op sequences, one per graph; ends early when no pattern occurs twice."""
    config = config or FoldingConfig()
    listed = list(sequences)
    names = sorted({name for sequence in listed for name in sequence})
    tokens = _encode(listed, {name: value for value, name in enumerate(names)}, unknown=SEPARATOR)
    if len(names) + config.num_folds < np.iinfo(np.int16).max:
        tokens = tokens.astype(np.int16)
    patterns: list[Pattern] = []
    room = Room(len(tokens))
    for number in range(config.num_folds):
        symbol = len(names) + number
        best = find_best_window(tokens, symbol, config.max_length, room)
        if best is None:
            break
        body = tokens[best.position : best.position + best.length].copy()
        tokens, count = replace_window(tokens, body, symbol)
        patterns.append(Pattern(tuple(_decode(body, names)), count))
    return Grammar(tuple(patterns))


def parse(grammar: Grammar, sequences: Iterable[Sequence[str]]) -> list[tuple[Symbol, ...]]:
    """Return each op sequence as symbols of a frozen grammar: its folds once more, in their order."""
    listed = list(sequences)
    names = sorted({symbol for pattern in grammar.patterns for symbol in pattern.body if isinstance(symbol, str)})
    values: dict[Symbol, int] = {name: value for value, name in enumerate(names)}
    unknown = len(names) + len(grammar.patterns)
    tokens = _encode(listed, values, unknown)
    for number, pattern in enumerate(grammar.patterns):
        values[number] = len(names) + number
        body = np.array([values[symbol] for symbol in pattern.body], np.int32)
        tokens, _ = replace_window(tokens, body, values[number])
    ends = np.flatnonzero(tokens == SEPARATOR)
    parts = np.split(tokens, ends + 1)[:-1]
    return [_name(grammar, part[:-1], names, sequence) for part, sequence in zip(parts, listed, strict=True)]


def _name(grammar: Grammar, tokens: Tokens, names: Sequence[str], sequence: Sequence[str]) -> tuple[Symbol, ...]:
    """Return tokens as symbols; an op that the grammar does not know keeps its own name."""
    named: list[Symbol] = []
    start = 0
    for token in tokens.tolist():
        number = token - len(names)
        is_pattern = 0 <= number < len(grammar.patterns)
        named.append(number if is_pattern else sequence[start])
        start += grammar.length(named[-1])
    return tuple(named)


def _encode(sequences: Sequence[Sequence[str]], values: dict[str, int] | dict[Symbol, int], unknown: int) -> Tokens:
    """Return all sequences in one array, `SEPARATOR` after each."""
    tokens = np.empty(sum(map(len, sequences)) + len(sequences), np.int32)
    start = 0
    for sequence in sequences:
        end = start + len(sequence)
        tokens[start:end] = [values.get(name, unknown) for name in sequence]  # pyright: ignore[reportArgumentType]
        tokens[end] = SEPARATOR
        start = end + 1
    return tokens


def _decode(tokens: Tokens, names: Sequence[str]) -> list[Symbol]:
    values: list[int] = tokens.tolist()
    return [names[value] if value < len(names) else value - len(names) for value in values]
