"""The best-scoring window of one long token array, exactly: compiled loops under `mining.folding`.

Windows of length L are classed by refinement: the class of a window is that of its first L - 1 tokens and its last
token. Equal classes are equal windows by construction, so there is no hash to collide and nothing to verify. Classes
are numbered in lexicographic order. A class whose disjoint count is d can at best reach the score
(max_length - 1) x (d - 1), by whatever extends it; what falls below the best score so far is dropped, with its
windows. A score to start from is that of a sample's best window, counted in the whole. Where no window one token longer
can be the best, the search goes on by two tokens. A level costs one pass over the windows left, their counts in a
table that stays in cache.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

import numba
import numpy as np
from numpy.typing import NDArray

Tokens = NDArray[np.signedinteger[Any]]  # int16 where the symbols are few: less memory to go through
Counts = NDArray[np.int32]

SEPARATOR = -1
# Cells of the table that counts (class, next token) directly, 8 bytes each; beyond it keys are ranked by sorting.
_MAX_CELLS = 1 << 24
# A sample is this part of the text, in slices spread over it; one of fewer tokens would cost more than it saves.
_SAMPLED = 32
_SLICE_TOKENS = 256
_MIN_SAMPLE = 1 << 13


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
    room = room or Room(len(tokens))
    has_pairs = num_symbols**2 <= _MAX_CELLS
    floor = _score_of_sample(tokens, num_symbols, max_length, room) if has_pairs else 0
    search = _Search(tokens, num_symbols, max_length, room, floor)
    search.begin_with_pairs() if has_pairs else search.begin_with_tokens()
    while search.num_classes and search.length < max_length:
        search.grow()
        if search.best is None:
            break
    return search.best


class _Search:
    """One search, from short windows to long ones.

    `floor` is a score that some window is known to have. `numbers` gives the class of each key of the windows left, -1
    where the key is too rare: `least` is the count that a key needs to reach the best score by any growth. `most` is
    the count of the most frequent key.
    """

    def __init__(self, tokens: Tokens, num_symbols: int, max_length: int, room: Room, floor: int) -> None:
        self.best: Window | None = None
        self.length = self.num_classes = 0
        self._tokens, self._num_symbols, self._max_length, self._floor = tokens, num_symbols, max_length, floor
        self._starts, self._classes = room.arrays
        self._num_windows: int = 0
        self._most = 0
        self._least = 2
        self._numbers: Counts = np.empty(0, np.int32)
        self._pair_counts: Counts | None = None

    def begin_with_tokens(self) -> None:
        """List the windows of length 1."""
        self.length, self.num_classes = 1, self._num_symbols
        self._num_windows = _list_windows(self._tokens, self._starts, self._classes)
        self._numbers = np.arange(self.num_classes, dtype=np.int32)

    def begin_with_pairs(self) -> None:
        """Count the windows of length 2, and list the frequent ones."""
        counts = self._pair_counts = _count_pairs(self._tokens, self._num_symbols)
        top = int(counts.argmax())
        self.length = 2
        if counts[top] < 2:
            return
        self._note(counts, _first_pair(self._tokens, *divmod(top, self._num_symbols)))
        self._num_windows = _list_pairs(self._tokens, self._numbers, self._num_symbols, *self._arrays)
        self._numbers = np.arange(self.num_classes, dtype=np.int32)

    def grow(self) -> None:
        """Look at the windows one token longer; two tokens, where those of one cannot be the best."""
        counts = self._grown_twice()
        if counts is None:
            counts = self._grown()
        top = int(counts.argmax()) if len(counts) else 0
        self._note(counts, int(self._starts[_first_of(self._classes, top)]) if len(counts) else 0)

    @property
    def _arrays(self) -> tuple[Any, Any]:
        return self._starts, self._classes

    @property
    def _windows(self) -> tuple[Any, ...]:
        return self._tokens, *self._arrays, self._num_windows, self.length, self._num_symbols

    @property
    def _score(self) -> int:
        return max(self.best.score if self.best else 0, self._floor)

    def _grown(self) -> Counts:
        self.length += 1
        is_few = self.num_classes * self._num_symbols <= _MAX_CELLS
        grow: Any = _extend if is_few else _extend_by_sorting
        counts, self._num_windows = grow(*self._windows, self._numbers, self.num_classes)
        return counts

    def _grown_twice(self) -> Counts | None:
        is_useless = self.length * (self._most - 1) < self._score
        if self._pair_counts is None or not is_useless or self.length + 2 > self._max_length:
            return None
        pair_numbers, num_pairs = _number_frequent(self._pair_counts, self._least)
        if self.num_classes * num_pairs > _MAX_CELLS:
            return None
        self.length += 2
        counts, self._num_windows = _extend_twice(
            *self._windows, self._numbers, self.num_classes, pair_numbers, num_pairs
        )
        return counts

    def _note(self, counts: Counts, first: int) -> None:
        """Take the most frequent window of this length, which starts at `first`, and number the frequent keys."""
        self._most = int(counts.max(initial=0))
        found = Window(int(first), self.length, self._most)
        if found.count > 1 and found.score >= (self.best.score if self.best else 0):
            self.best = found
        self._least = max(2, -(-self._score // (self._max_length - 1)) + 1)
        self._numbers, self.num_classes = _number_frequent(counts, self._least)


def _score_of_sample(tokens: Tokens, num_symbols: int, max_length: int, room: Room) -> int:
    """Return the score that the best window of a sample has in the whole text: the best of all has no less."""
    size = len(tokens) // _SAMPLED
    if size < _MIN_SAMPLE:
        return 0
    width = min(_SLICE_TOKENS, size)
    firsts = np.linspace(0, len(tokens) - width, size // width).astype(np.int64).tolist()
    separator = np.array([SEPARATOR], tokens.dtype)
    slices = [part for first in firsts for part in (tokens[first : first + width], separator)]
    sample = np.concatenate(slices)
    found = find_best_window(sample, num_symbols, max_length, room)
    if found is None:
        return 0
    body = sample[found.position : found.position + found.length]
    return Window(0, found.length, _count_of(tokens, body)).score


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
    tokens: Any,
    starts: Any,
    classes: Any,
    num_windows: int,
    length: int,
    num_symbols: int,
    numbers: Any,
    num_classes: int,
) -> Any:
    """Grow the windows whose key has a number to `length`; their new key is that * num_symbols + next token.

    Returns by key how many of its windows do not overlap, taken greedily from the left (which is the most), and how
    many windows are left.
    """
    cells = np.zeros((num_classes * num_symbols, 2), np.int32)  # count and end, beside each other in the cache
    num_kept, num_tokens = 0, len(tokens)
    for index in range(num_windows):
        number = numbers[classes[index]]
        start = starts[index]
        last = start + length - 1
        if number < 0 or last >= num_tokens:
            continue
        token = tokens[last]
        if token != SEPARATOR:
            key = number * num_symbols + np.int32(token)
            if start >= cells[key, 1]:
                cells[key, 0] += 1
                cells[key, 1] = last + 1
            starts[num_kept] = start
            classes[num_kept] = key
            num_kept += 1
    return cells[:, 0].copy(), num_kept


@_compiled
def _extend_twice(
    tokens: Any,
    starts: Any,
    classes: Any,
    num_windows: int,
    length: int,
    num_symbols: int,
    numbers: Any,
    num_classes: int,
    pair_numbers: Any,
    num_pairs: int,
) -> Any:
    """Do what `_extend` does by two tokens, which must be a pair that has a number."""
    cells = np.zeros((num_classes * num_pairs, 2), np.int32)
    num_kept, num_tokens = 0, len(tokens)
    for index in range(num_windows):
        number = numbers[classes[index]]
        start = starts[index]
        last = start + length - 1
        if number < 0 or last >= num_tokens or tokens[last] == SEPARATOR or tokens[last - 1] == SEPARATOR:
            continue
        pair = pair_numbers[np.int32(tokens[last - 1]) * num_symbols + tokens[last]]
        if pair >= 0:
            key = number * num_pairs + pair
            if start >= cells[key, 1]:
                cells[key, 0] += 1
                cells[key, 1] = last + 1
            starts[num_kept] = start
            classes[num_kept] = key
            num_kept += 1
    return cells[:, 0].copy(), num_kept


def _extend_by_sorting(
    tokens: Tokens,
    starts: Any,
    classes: Any,
    num_windows: int,
    length: int,
    num_symbols: int,
    numbers: Counts,
    num_classes: int,
) -> tuple[Counts, int]:
    """Do what `_extend` does where keys are too many for a table: number those that occur, in order."""
    keys, num_kept = _list_keys(tokens, starts, classes, num_windows, length, num_symbols, numbers)
    distinct, ranks = np.unique(keys, return_inverse=True)
    classes[:num_kept] = ranks
    return _count_disjoint(starts, classes, num_kept, len(distinct), length), num_kept


@_compiled
def _list_keys(
    tokens: Any, starts: Any, classes: Any, num_windows: int, length: int, num_symbols: int, numbers: Any
) -> Any:
    keys = np.empty(num_windows, np.int64)
    num_kept, num_tokens = 0, len(tokens)
    for index in range(num_windows):
        number, last = numbers[classes[index]], starts[index] + length - 1
        if number >= 0 and last < num_tokens and tokens[last] != SEPARATOR:
            keys[num_kept] = np.int64(number) * num_symbols + tokens[last]
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
def _number_frequent(counts: Any, least: int) -> Any:
    """Number the keys whose count is `least` or more, in order, the others -1; return that and how many there are."""
    renumbered = np.full(len(counts), -1, np.int32)
    num_classes = 0
    for key in range(len(counts)):
        if counts[key] >= least:
            renumbered[key] = num_classes
            num_classes += 1
    return renumbered, num_classes


@_compiled
def _count_pairs(tokens: Any, num_symbols: int) -> Any:
    """Return by key, first token * num_symbols + second, how many windows of two do not overlap."""
    counts = np.zeros(num_symbols * num_symbols, np.int32)
    is_tail, last_key = False, -1  # a pair overlaps only itself, one place on: a a a
    previous = SEPARATOR
    for index in range(len(tokens)):
        token = tokens[index]
        if token == SEPARATOR or previous == SEPARATOR:
            is_tail, last_key = False, -1
        else:
            key = np.int32(previous) * num_symbols + token
            is_tail = key == last_key and not is_tail
            if not is_tail:
                counts[key] += 1
            last_key = key
        previous = token
    return counts


@_compiled
def _first_pair(tokens: Any, first: int, second: int) -> int:
    for index in range(len(tokens) - 1):
        if tokens[index] == first and tokens[index + 1] == second:
            return index
    return -1


@_compiled
def _list_pairs(tokens: Any, renumbered: Any, num_symbols: int, starts: Any, classes: Any) -> int:
    """List the windows of two whose key has a number, which is their class; return how many."""
    num_windows = 0
    previous = SEPARATOR
    for index in range(len(tokens)):
        token = tokens[index]
        if token != SEPARATOR and previous != SEPARATOR:
            number = renumbered[np.int32(previous) * num_symbols + token]
            if number >= 0:
                starts[num_windows] = index - 1
                classes[num_windows] = number
                num_windows += 1
        previous = token
    return num_windows


@_compiled
def _count_of(tokens: Any, body: Any) -> int:
    """Return how many disjoint occurrences a body has, from the left."""
    length, count, read = len(body), 0, 0
    while read + length <= len(tokens):
        offset = 0
        while offset < length and tokens[read + offset] == body[offset]:
            offset += 1
        if offset == length:
            count += 1
            read += length
        else:
            read += 1
    return count


@_compiled
def _replace(tokens: Any, body: Any, symbol: int) -> Any:
    made = np.empty_like(tokens)
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
