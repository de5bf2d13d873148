"""Two programs' op names to where each range of the one is in the other (definitions.md section 5, *Alignment*).

An op has an image when every longest common subsequence pairs it with the same op of the variant; the image of a range
is that of its ops where it is contiguous. Optimal alignments are shortest paths through a planar grid, so all of them
lie between two extreme ones, and what those two agree on is what all agree on. Lengths of common subsequences are kept
as bits, one per column, so that a row costs four operations on one long integer (Hyyrö, 2004: "Bit-parallel LCS-length
computation revisited"). Time is (ops x ops of the variant) / 64 word operations at worst, memory ops ** 1.5 bits.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

Pair = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Alignment:
    """The op of the variant that each op of the base is, None where there is none or where it is not certain."""

    images: Sequence[int | None]

    def image(self, start: int, end: int) -> tuple[int, int] | None:
        """Return where ops [start, end) of the base are in the variant; None where they are not one range for certain.

        Raises ValueError for a range that is empty or not within the base.
        """
        if not 0 <= start < end <= len(self.images):
            raise ValueError(f"[{start}, {end}) is no range of {len(self.images)} ops")
        first = self.images[start]
        if first is None:
            return None
        if isinstance(self.images, range):
            return start, end
        expected = range(first, first + end - start)
        return (expected.start, expected.stop) if tuple(self.images[start:end]) == tuple(expected) else None

    @property
    def is_identity(self) -> bool:
        """Whether both programs have the same op names."""
        return isinstance(self.images, range)


def align(base_ops: Sequence[str], variant_ops: Sequence[str]) -> Alignment:
    """Return the alignment of two programs' op names; two of 20,000 ops take 0.2 s whatever they share.

    Programs of the same names are aligned op by op.
    """
    base, variant = tuple(base_ops), tuple(variant_ops)
    if base == variant:
        return Alignment(range(len(base)))
    least = set(_lowest_pairs(base, variant))
    images: list[int | None] = [None] * len(base)
    for place, op in _lowest_pairs(variant, base):
        if (op, place) in least:
            images[op] = place
    return Alignment(images)


def _lowest_pairs(left: Sequence[str], right: Sequence[str]) -> Iterator[Pair]:
    """Yield the pairs of the optimal alignment that leaves `right` to the latest ops of `left`, last pair first.

    From the end on it skips an op of `right` wherever the common subsequence stays as long, else it takes the pair if
    the ops are equal, else it skips an op of `left`.
    """
    row, column = len(left), len(right)
    for first, rows in _blocks_of_rows(left, right):
        while row > first and column:
            if rows[row - first] >> (column - 1) & 1:
                column -= 1
            elif left[row - 1] == right[column - 1]:
                row, column = row - 1, column - 1
                yield row, column
            else:
                row -= 1


def _blocks_of_rows(left: Sequence[str], right: Sequence[str]) -> Iterator[tuple[int, list[int]]]:
    """Yield (number of the first row, rows) of each block of the table of lengths, the last block first.

    Bit j of row i is 0 where the first j + 1 ops of `right` share a longer subsequence with the first i of `left`
    than the first j do. Only the first row of each block is kept, and the block made again from there.
    """
    places, everywhere = _places_by_name(right), (1 << len(right)) - 1
    size = max(math.isqrt(len(left)), 1)
    firsts = [everywhere]
    row = everywhere
    for number, name in enumerate(left, 1):
        row = _next_row(row, places.get(name, 0), everywhere)
        if number % size == 0:
            firsts.append(row)
    for block in range(len(firsts) - 1, -1, -1):
        rows = [firsts[block]]
        for name in left[block * size : (block + 1) * size]:
            rows.append(_next_row(rows[-1], places.get(name, 0), everywhere))
        yield block * size, rows


def _next_row(row: int, places: int, everywhere: int) -> int:
    found = row & places
    return ((row + found) | (row - found)) & everywhere if found else row


def _places_by_name(ops: Sequence[str]) -> dict[str, int]:
    """Return, by op name, an integer with a bit for each place of the name."""
    marks: dict[str, bytearray] = {}
    for place, name in enumerate(ops):
        if name not in marks:
            marks[name] = bytearray(len(ops) // 8 + 1)
        marks[name][place >> 3] |= 1 << (place & 7)
    return {name: int.from_bytes(mark, "little") for name, mark in marks.items()}
