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


def find_best_window(tokens: Tokens, num_symbols: int, max_length: int, room: Room | None = None) -> Window | None:
    """Return the window of 2 to `max_length` tokens with the largest score; None where nothing occurs twice.

    `tokens` has shape (n,): values in [0, num_symbols), `SEPARATOR` between sequences, which no window spans. `room`
    is for at least n windows, used again by the next search. Ties: the longer, then the lexicographically smaller
    by token values.
    """
    starts, classes = (room or Room(len(tokens))).arrays
    num_windows = _list_windows(tokens, starts, classes)
    num_classes = num_symbols
    best: Window | None = None
    for length in range(2, max_length + 1):
        num_keys = num_classes * num_symbols
        if num_keys <= _MAX_CELLS:
            counts, num_windows = _extend(tokens, starts, classes, num_windows, length, num_symbols, num_keys)
        else:
            counts, num_windows = _extend_by_sorting(tokens, starts, classes, num_windows, length, num_symbols)
        top = int(counts.argmax()) if len(counts) else 0
        found = Window(0, length, int(counts[top]) if len(counts) else 0)
        if found.count > 1 and (best is None or found.score >= best.score):
            best = Window(int(starts[_first_of(classes, top)]), length, found.count)
        if best is None:
            return None
        least = max(2, -(-best.score // (max_length - 1)) + 1)
        num_windows, num_classes = _keep_frequent(starts, classes, num_windows, counts, least)
        if not num_classes:
            break
    return best


class Room:
    """Memory for the starts and classes of windows: fresh pages for each search would cost more than the search."""

    def __init__(self, num_windows: int) -> None:
        self.arrays = np.empty(num_windows, np.int32), np.empty(num_windows, np.int32)


def replace_window(tokens: Tokens, body: Tokens, symbol: int) -> tuple[Tokens, int]:
    """Return `tokens` with each occurrence of `body`, from the left, as one `symbol`, and how many there were."""
    replaced, count = _replace(tokens, body, symbol)
    return replaced, count


def _compiled(function: Any) -> Any:
    return cast("Any", numba.njit(cache=True)(function))


# In the loops below `starts` and `classes` hold the windows left in their first `num_windows` elements, by start; each
# loop writes what it keeps back into them, never past what it has read.


@_compiled
def _list_windows(tokens: Any, starts: Any, classes: Any) -> int:
    """Make each token a window of length 1, and return how many there are."""
    num_windows = 0
    for index in range(len(tokens)):
        if tokens[index] != SEPARATOR:
            starts[num_windows] = index
            classes[num_windows] = tokens[index]
            num_windows += 1
    return num_windows


@_compiled
def _extend(
    tokens: Any, starts: Any, classes: Any, num_windows: int, length: int, num_symbols: int, num_keys: int
) -> Any:
    """Grow windows to `length`, their classes becoming keys: class * num_symbols + next token.

    Returns by key how many of its windows do not overlap, taken greedily from the left (which is the most), and how
    many windows are left.
    """
    counts = np.zeros(num_keys, np.int32)
    ends = np.zeros(num_keys, np.int32)
    num_kept, num_tokens = 0, len(tokens)
    for index in range(num_windows):
        start = starts[index]
        if start + length > num_tokens:
            continue
        token = tokens[start + length - 1]
        if token != SEPARATOR:
            key = classes[index] * num_symbols + token
            if start >= ends[key]:
                counts[key] += 1
                ends[key] = start + length
            starts[num_kept] = start
            classes[num_kept] = key
            num_kept += 1
    return counts, num_kept


def _extend_by_sorting(
    tokens: Tokens, starts: Any, classes: Any, num_windows: int, length: int, num_symbols: int
) -> tuple[NDArray[np.int32], int]:
    """Do what `_extend` does where keys are too many for a table: number those that occur, in order."""
    keys, num_kept = _list_keys(tokens, starts, classes, num_windows, length, num_symbols)
    distinct, ranks = np.unique(keys, return_inverse=True)
    classes[:num_kept] = ranks
    return _count_disjoint(starts, classes, num_kept, len(distinct), length), num_kept


@_compiled
def _list_keys(tokens: Any, starts: Any, classes: Any, num_windows: int, length: int, num_symbols: int) -> Any:
    keys = np.empty(num_windows, np.int64)
    num_kept, num_tokens = 0, len(tokens)
    for index in range(num_windows):
        last = starts[index] + length - 1
        if last < num_tokens and tokens[last] != SEPARATOR:
            keys[num_kept] = np.int64(classes[index]) * num_symbols + tokens[last]
            starts[num_kept] = starts[index]
            num_kept += 1
    return keys[:num_kept], num_kept


@_compiled
def _count_disjoint(starts: Any, keys: Any, num_windows: int, num_keys: int, length: int) -> Any:
    counts = np.zeros(num_keys, np.int32)
    ends = np.zeros(num_keys, np.int32)
    for index in range(num_windows):
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
def _keep_frequent(starts: Any, classes: Any, num_windows: int, counts: Any, least: int) -> Any:
    """Keep the windows whose key counts `least` or more, keys renumbered in order; return how many windows and keys."""
    renumbered = np.full(len(counts), -1, np.int32)
    num_classes = 0
    for key in range(len(counts)):
        if counts[key] >= least:
            renumbered[key] = num_classes
            num_classes += 1
    num_kept = 0
    for index in range(num_windows):
        number = renumbered[classes[index]]
        if number >= 0:
            starts[num_kept] = starts[index]
            classes[num_kept] = number
            num_kept += 1
    return num_kept, num_classes


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
