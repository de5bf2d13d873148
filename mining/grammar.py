"""A grammar of recurring op sequences, and how it reads a graph: the nouns that folding makes and mining uses.

A pattern is a string of op names and of earlier patterns: [conv2d, batch_norm] is 0, [0, relu] is 1. A symbol is an op
name or the number of a pattern. A parse covers a graph's ops, in order, by symbols; ops that no pattern takes stand
for themselves.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

ALGORITHM = "passnet-folding/1"
MIN_OPS, MAX_OPS = 4, 62
"""Ops of a classical occurrence (definitions.md section 3)."""

Symbol = str | int


@dataclass(frozen=True, slots=True)
class Pattern:
    """What one fold replaced: `body` (op names and numbers of earlier patterns), found at `count` disjoint places of
    the folded sequences that it was learned from."""

    body: tuple[Symbol, ...]
    count: int

    @property
    def score(self) -> int:
        """Symbols that the fold saved, less those of one copy kept."""
        return (len(self.body) - 1) * (self.count - 1)


@dataclass(frozen=True)
class Grammar:
    """Patterns in the order in which they were folded; a pattern's number is its place."""

    patterns: tuple[Pattern, ...]

    @cached_property
    def expansions(self) -> tuple[tuple[str, ...], ...]:
        """The op names that each pattern stands for."""
        made: list[tuple[str, ...]] = []
        for pattern in self.patterns:
            parts = ((symbol,) if isinstance(symbol, str) else made[symbol] for symbol in pattern.body)
            made.append(tuple(name for part in parts for name in part))
        return tuple(made)

    @cached_property
    def depths(self) -> tuple[int, ...]:
        """How deep each pattern nests; one of op names alone has depth 1."""
        made: list[int] = []
        for pattern in self.patterns:
            made.append(1 + max((made[symbol] for symbol in pattern.body if isinstance(symbol, int)), default=0))
        return tuple(made)

    def length(self, symbol: Symbol) -> int:
        """Return how many ops a symbol stands for."""
        return 1 if isinstance(symbol, str) else len(self.expansions[symbol])

    def unfold(self, symbols: Iterable[Symbol]) -> tuple[str, ...]:
        """Return the op names that symbols stand for, in order."""
        parts = ((symbol,) if isinstance(symbol, str) else self.expansions[symbol] for symbol in symbols)
        return tuple(name for part in parts for name in part)


@dataclass(frozen=True, slots=True)
class Span:
    """A pattern at ops [start, end) of a graph."""

    start: int
    end: int
    pattern: int


def outermost_spans(grammar: Grammar, parse: Sequence[Symbol], min_ops: int, max_ops: int) -> Iterator[Span]:
    """Yield, by start, the outermost patterns of `min_ops` to `max_ops` ops in a parse, descending where longer.

    They are disjoint: what is taken is not descended into.
    """
    start = 0
    for symbol in parse:
        yield from _spans_of(grammar, symbol, start, min_ops, max_ops)
        start += grammar.length(symbol)


def _spans_of(grammar: Grammar, symbol: Symbol, start: int, min_ops: int, max_ops: int) -> Iterator[Span]:
    num_ops = grammar.length(symbol)
    if isinstance(symbol, str) or num_ops < min_ops:
        return
    if num_ops <= max_ops:
        yield Span(start, start + num_ops, symbol)
        return
    for part in grammar.patterns[symbol].body:
        yield from _spans_of(grammar, part, start, min_ops, max_ops)
        start += grammar.length(part)


def grammar_id(graph_sha256s: Iterable[str], num_folds: int, max_length: int) -> str:
    """Return the id (64 hex characters) of the grammar that a set of graphs gives under a configuration."""
    config = json.dumps({"max_length": max_length, "num_folds": num_folds}, sort_keys=True)
    lines = [ALGORITHM, config, *sorted(set(graph_sha256s))]
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()
