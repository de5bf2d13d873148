"""The best-scoring window of one long token array, exactly: compiled loops under `mining.folding`.

Windows of length L are classed by refinement: the class of a window is that of its first L - 1 tokens and its last
token. Equal classes are equal windows by construction, so there is no hash to collide and nothing to verify. Classes
are numbered in lexicographic order. A class whose disjoint count is d can at best reach the score
(max_length - 1) x (d - 1), by whatever extends it; what falls below the best score so far is dropped, with its
windows. A level costs one pass over the windows left, their counts in a table that stays in cache.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

import numba
import numpy as np
from numpy.typing import NDArray

Tokens = NDArray[np.int32]

SEPARATOR = -1
# Cells of the table that counts (class, next token) directly, 8 bytes each; beyond it keys are ranked by sorting.
_MAX_CELLS = 1 << 24


@dataclass(frozen=True, slots=True)
class Window:
    """A run of `length` tokens that starts at `position`; `count` of them, pairwise disjoint, found from the left."""

    position: int
    length: int
    count: int

    @property
    def score(self) -> int:
        """Tokens that folding all of them saves, less those of one copy kept."""
        return (self.length - 1) * (self.count - 1)


def find_best_window(tokens: Tokens, num_symbols: int, max_length: int) -> Window | None:
    """Return the window of 2 to `max_length` tokens with the largest score; None where nothing occurs twice.

    `tokens` has shape (n,): values in [0, num_symbols), `SEPARATOR` between sequences, which no window spans. Ties:
    the longer, then the lexicographically smaller by token values.
    """
    starts = np.flatnonzero(tokens != SEPARATOR).astype(np.int32)
    classes, num_classes = tokens[starts], num_symbols
    best: Window | None = None
    for length in range(2, max_length + 1):
        starts, keys = _extend(tokens, starts, classes, length, num_symbols)
        num_keys = num_classes * num_symbols
        if num_keys > _MAX_CELLS:
            distinct, keys = np.unique(keys, return_inverse=True)
            num_keys = len(distinct)
        counts = _count_disjoint(starts, keys, num_keys, length)
        top = int(counts.argmax()) if num_keys else 0
        found = Window(0, length, int(counts[top])) if num_keys else None
        if found is not None and found.count > 1 and (best is None or found.score >= best.score):
            best = Window(int(starts[_first_of(keys, top)]), length, found.count)
        if best is None:
            return None
        least = max(2, -(-best.score // (max_length - 1)) + 1)
        starts, classes, num_classes = _keep_frequent(starts, keys, counts, least)
        if not num_classes:
            break
    return best


def replace_window(tokens: Tokens, body: Tokens, symbol: int) -> tuple[Tokens, int]:
    """Return `tokens` with each occurrence of `body`, from the left, as one `symbol`, and how many there were."""
    replaced, count = _replace(tokens, body, symbol)
    return replaced, count


def _compiled(function: Any) -> Any:
    return cast("Any", numba.njit(cache=True)(function))


@_compiled
def _extend(tokens: Any, starts: Any, classes: Any, length: int, num_symbols: int) -> Any:
    """Return the starts of windows that can grow to `length`, and class * num_symbols + next token of each."""
    kept = np.empty(len(starts), np.int32)
    keys = np.empty(len(starts), np.int64)
    num_kept, end = 0, len(tokens)
    for index in range(len(starts)):
        last = starts[index] + length - 1
        if last >= end:
            continue
        token = tokens[last]
        if token != SEPARATOR:
            kept[num_kept] = starts[index]
            keys[num_kept] = np.int64(classes[index]) * num_symbols + token
            num_kept += 1
    return kept[:num_kept], keys[:num_kept]


@_compiled
def _count_disjoint(starts: Any, keys: Any, num_keys: int, length: int) -> Any:
    """Return by key how many of its windows do not overlap, taken greedily from the left (which is the most)."""
    counts = np.zeros(num_keys, np.int32)
    ends = np.zeros(num_keys, np.int32)
    for index in range(len(starts)):
        key = keys[index]
        if starts[index] >= ends[key]:
            counts[key] += 1
            ends[key] = starts[index] + length
    return counts


@_compiled
def _first_of(keys: Any, key: int) -> int:
    for index in range(len(keys)):
        if keys[index] == key:
            return index
    return -1


@_compiled
def _keep_frequent(starts: Any, keys: Any, counts: Any, least: int) -> Any:
    """Return starts and classes of the windows whose key counts `least` or more, and the number of classes."""
    renumbered = np.full(len(counts), -1, np.int32)
    num_classes = 0
    for key in range(len(counts)):
        if counts[key] >= least:
            renumbered[key] = num_classes
            num_classes += 1
    kept = np.empty(len(starts), np.int32)
    classes = np.empty(len(starts), np.int32)
    num_kept = 0
    for index in range(len(starts)):
        number = renumbered[keys[index]]
        if number >= 0:
            kept[num_kept] = starts[index]
            classes[num_kept] = number
            num_kept += 1
    return kept[:num_kept], classes[:num_kept], num_classes


@_compiled
def _replace(tokens: Any, body: Any, symbol: int) -> Any:
    made = np.empty(len(tokens), np.int32)
    length, count, read, written = len(body), 0, 0, 0
    while read < len(tokens):
        is_match = tokens[read] == body[0] and read + length <= len(tokens)
        offset = 1
        while is_match and offset < length:
            is_match = tokens[read + offset] == body[offset]
            offset += 1
        if is_match:
            made[written] = symbol
            read += length
            count += 1
        else:
            made[written] = tokens[read]
            read += 1
        written += 1
    return made[:written].copy(), count
