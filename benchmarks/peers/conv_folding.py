"""Recursive Folding as the paper puts it: windows hashed by convolution with random weights, counted by one unique.

Per fold: the float64 hash of every window of 2 to `max_length` tokens in one flat array; its distinct values with
their counts; the best score; the windows of that hash replaced, from the left. A hash of length L is that of length
L - 1 plus one product, so all lengths together cost one multiply-add per window, less than `conv1d` per length, and
equal windows give equal floats wherever they stand, which `conv1d` does not promise. The whole part of a hash is the
length of its window, the fraction the convolution: so one sort keeps lengths apart. Between two graphs stands a number
that occurs nowhere else, so that no window across them repeats.

The unique is `np.unique`, which sorts, or the `value_counts` of polars, which hashes on all cores: about three times
as fast, and the fastest of those tried (numpy, torch, pyarrow, polars).

What counts is every window, as a unique counts, so that windows which overlap each other all do (a run of 100 equal
ops has 69 windows of 32, of which 3 can be folded); or, where `disjoint` is asked for, the best of the candidates
after overlaps are taken out, which is the score that ours has. Different windows of equal hash are one to this method.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from mining.folding import FoldingConfig
from mining.grammar import Grammar, Pattern, Symbol

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Unique = Literal["numpy", "polars"]

_SEED = 64
_SEPARATOR = -1


@dataclass(frozen=True, slots=True)
class ConvFolding:
    """The patterns, by fold; of each, the windows that the unique counted; and the folded sequences."""

    grammar: Grammar
    num_windows: tuple[int, ...]
    folded: tuple[tuple[Symbol, ...], ...]


@dataclass(frozen=True, slots=True)
class _Windows:
    """Hashes of all windows, by length, then by start; those of length L begin at `offsets[L - 2]`."""

    hashes: Floats
    offsets: list[int]

    def starts(self, value: float) -> Ints:
        """Return where the windows of one hash start, in order."""
        begin, end = self.offsets[int(value) - 2 : int(value)]
        return np.flatnonzero(self.hashes[begin:end] == value)


def fold(
    sequences: Sequence[Sequence[str]], config: FoldingConfig, unique: Unique = "polars", *, disjoint: bool = False
) -> ConvFolding:
    """Fold op sequences, one per graph; ends early when no window repeats."""
    names = sorted({name for sequence in sequences for name in sequence})
    values = {name: value for value, name in enumerate(names)}
    tokens = np.array([token for s in sequences for token in (*map(values.__getitem__, s), _SEPARATOR)], np.int64)
    rng = np.random.default_rng(_SEED)
    weights = rng.random(config.max_length)
    patterns: list[Pattern] = []
    num_windows: list[int] = []
    for number in range(config.num_folds):
        symbol = len(names) + number
        is_separator = tokens == _SEPARATOR
        signal = tokens / (symbol + 1)
        signal[is_separator] = rng.random(int(is_separator.sum()))
        windows = _hash_windows(signal, weights)
        best = _best_hash(windows, tokens, unique, disjoint)
        if best is None:
            break
        found = windows.starts(best)
        body = tokens[found[0] : found[0] + int(best)].tolist()
        starts = _without_overlaps(found, len(body))
        tokens = _replace(tokens, starts, len(body), symbol)
        patterns.append(Pattern(_named(body, names), len(starts)))
        num_windows.append(len(found))
    parts = np.split(tokens, np.flatnonzero(tokens == _SEPARATOR) + 1)[:-1]
    folded = tuple(_named(part[:-1].tolist(), names) for part in parts)
    return ConvFolding(Grammar(tuple(patterns)), tuple(num_windows), folded)


def _named(tokens: Sequence[int], names: Sequence[str]) -> tuple[Symbol, ...]:
    return tuple(names[token] if token < len(names) else token - len(names) for token in tokens)


def _hash_windows(signal: Floats, weights: Floats) -> _Windows:
    """Hash all windows of a signal in [0, 1)."""
    sizes = [max(0, len(signal) - length + 1) for length in range(2, len(weights) + 1)]
    offsets: list[int] = np.cumsum([0, *sizes]).tolist()
    hashes = np.empty(offsets[-1])
    convolved = weights[0] * signal
    for length, begin, end in zip(range(2, len(weights) + 1), offsets, offsets[1:], strict=False):
        convolved = convolved[: end - begin]
        convolved += weights[length - 1] * signal[length - 1 :]
        np.multiply(convolved, 1 / len(weights), out=hashes[begin:end])
        hashes[begin:end] += length
    return _Windows(hashes, offsets)


def _best_hash(windows: _Windows, tokens: Ints, unique: Unique, disjoint: bool) -> float | None:
    """Return the hash of the best window; ties to the longer, then to the smaller by tokens. None: nothing repeats."""
    values, counts = _count_numpy(windows.hashes) if unique == "numpy" else _count_polars(windows.hashes)
    scores = (values.astype(np.int64) - 1) * (counts - 1)
    best = _best_disjoint(windows, values, scores) if disjoint else values[scores == scores.max(initial=0)].tolist()
    return min(best, key=lambda value: (-int(value), _body(windows, tokens, value)), default=None)


def _count_numpy(hashes: Floats) -> tuple[Floats, Ints]:
    values, counts = np.unique(hashes, return_counts=True)
    return values[counts > 1], counts[counts > 1]


def _count_polars(hashes: Floats) -> tuple[Floats, Ints]:
    counted = pl.Series("hash", hashes).value_counts().filter(pl.col("count") > 1)
    return counted["hash"].to_numpy(), counted["count"].to_numpy().astype(np.int64)


def _body(windows: _Windows, tokens: Ints, value: float) -> list[int]:
    start = windows.starts(value)[0]
    return tokens[start : start + int(value)].tolist()


def _best_disjoint(windows: _Windows, values: Floats, scores: Ints) -> list[float]:
    """Return the hashes whose disjoint windows score best; what all windows score is a bound on that."""
    best, found = 1, list[float]()
    for index in np.argsort(-scores, kind="stable"):
        if scores[index] < best:
            break
        value = float(values[index])
        score = (int(value) - 1) * (len(_without_overlaps(windows.starts(value), int(value))) - 1)
        if score >= best:
            found = [*found, value] if score == best else [value]
            best = score
    return found


def _without_overlaps(starts: Ints, length: int) -> Ints:
    """Return the starts of the windows that are taken when they are taken from the left."""
    if np.all(np.diff(starts) >= length):
        return starts
    taken: list[int] = []
    end = 0
    for start in starts.tolist():
        if start >= end:
            taken.append(start)
            end = start + length
    return np.array(taken, np.int64)


def _replace(tokens: Ints, starts: Ints, length: int, symbol: int) -> Ints:
    """Return tokens with `symbol` in the place of the windows at `starts`."""
    is_kept = np.ones(len(tokens), np.bool_)
    is_kept[(starts[:, None] + np.arange(1, length)).ravel()] = False
    tokens[starts] = symbol
    return tokens[is_kept]
