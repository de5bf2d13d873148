"""Evaluation and training op sequences to pairs that resemble without being leaks: MinHash over runs of three ops.

Broder 1997: of a random order of all shingles, two sets begin with the same one with the probability of their Jaccard
similarity, so the share of equal minima among `num_permutations` orders estimates it (standard error 0.035 at 0.8 and
128). Reported only, nothing is dropped for it. Hashes are seeded and our own: no library's version changes a figure.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from passbench.op_sequence import OpSequence, seeded_order

Words = NDArray[np.uint64]

# A band is this many minima told apart as one number: fewer comparisons, and a pair near enough cannot escape.
_BAND = 4


@dataclass(frozen=True, slots=True)
class MinHashConfig:
    """Ops of a shingle, orders drawn, the least estimate that is reported, and the seed of the orders."""

    shingle_ops: int = 3
    num_permutations: int = 128
    least_jaccard: float = 0.8
    seed: int = 0


@dataclass(frozen=True, slots=True)
class NearDuplicate:
    """A pair across the split; `jaccard` is the estimate."""

    evaluation_kind: str
    evaluation_xxh3: str
    training_kind: str
    training_xxh3: str
    jaccard: float


def near_duplicates(
    evaluation: Iterable[OpSequence], training: Iterable[OpSequence], config: MinHashConfig | None = None
) -> list[NearDuplicate]:
    """Return the pairs whose estimate reaches the least, by the hashes of evaluation, then of training.

    Equal sets of shingles count as 1, even of sequences that differ in how often they repeat. A sequence shorter than a
    shingle is one itself. Raises ValueError where permutations do not make whole bands of 4.
    """
    config = config or MinHashConfig()
    if config.num_permutations < _BAND or config.num_permutations % _BAND:
        raise ValueError(f"num_permutations is {config.num_permutations}; it must be a multiple of {_BAND}")
    asked, held = (sorted(side, key=lambda s: (s.op_sequence_xxh3, s.kind)) for side in (evaluation, training))
    signatures = sign([sequence.op_sequence for sequence in (*asked, *held)], config)
    least_equal = math.ceil(config.least_jaccard * config.num_permutations - 1e-9)
    found: list[NearDuplicate] = []
    for a, h, num_equal in _near_pairs(signatures[: len(asked)], signatures[len(asked) :], least_equal):
        names = asked[a].kind, asked[a].op_sequence_xxh3, held[h].kind, held[h].op_sequence_xxh3
        found.append(NearDuplicate(*names, num_equal / config.num_permutations))
    return found


def sign(sequences: Sequence[Sequence[str]], config: MinHashConfig) -> Words:
    """Return signature[sequence, permutation]: the least hash of its shingles in each order."""
    words: dict[tuple[str, ...], int] = {}
    listed: list[int] = []
    starts: list[int] = []
    for ops in sequences:
        starts.append(len(listed))
        listed.extend(words.setdefault(shingle, len(words)) for shingle in _shingles(ops, config.shingle_ops))
    hashed = np.array([seeded_order("\n".join(shingle), config.seed) for shingle in words], np.uint64)
    signatures = np.empty((len(sequences), config.num_permutations), np.uint64)
    places = np.array(listed, np.int64)
    for permutation in range(config.num_permutations):
        salt = np.uint64(seeded_order(f"permutation {permutation}", config.seed))
        signatures[:, permutation] = np.minimum.reduceat(_mix(hashed ^ salt)[places], starts)
    return signatures


def _shingles(ops: Sequence[str], num_ops: int) -> set[tuple[str, ...]]:
    return {tuple(ops[start : start + num_ops]) for start in range(max(1, len(ops) - num_ops + 1))}


def _mix(words: Words) -> Words:
    """Permute all 64-bit words: the finalizer of splitmix64 (Steele, Lea, Flood 2014)."""
    words = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return words ^ (words >> np.uint64(31))


def _near_pairs(asked: Words, held: Words, least_equal: int) -> Iterator[tuple[int, int, int]]:
    """Yield (asked, held, equal minima) of the pairs with `least_equal` at least, in order."""
    for number, candidates in enumerate(_candidates(asked, held, least_equal)):
        num_equal = (held[candidates] == asked[number]).sum(axis=1)
        for candidate, count in zip(candidates.tolist(), num_equal.tolist(), strict=True):
            if count >= least_equal:
                yield number, candidate, count


def _candidates(asked: Words, held: Words, least_equal: int) -> Iterator[NDArray[np.int64]]:
    """Yield for each of `asked` those of `held`, in order, that have enough bands in common with it.

    Each minimum that differs spoils one band at most, so near pairs lack no more bands than they may lack minima.
    """
    least_bands = asked.shape[1] // _BAND - (asked.shape[1] - least_equal)
    bands, wanted = _bands(held), _bands(asked)
    order = np.argsort(bands, axis=0, kind="stable")
    columns = [bands[order[:, band], band] for band in range(bands.shape[1])]
    ranges = [
        (np.searchsorted(column, wanted[:, band], "left"), np.searchsorted(column, wanted[:, band], "right"))
        for band, column in enumerate(columns)
    ]
    for number in range(len(asked)):
        if least_bands <= 0:
            yield np.arange(len(held))
            continue
        matches = [order[begin[number] : end[number], band] for band, (begin, end) in enumerate(ranges)]
        candidates, counts = np.unique(np.concatenate(matches), return_counts=True)
        yield candidates[counts >= least_bands]


def _bands(signatures: Words) -> Words:
    """Return one word for each band; equal bands have equal words, others almost never, which costs a comparison."""
    grouped = signatures.reshape(len(signatures), signatures.shape[1] // _BAND, _BAND)
    words = np.zeros(grouped.shape[:2], np.uint64)
    for place in range(_BAND):
        words = _mix(words ^ grouped[:, :, place]) + np.uint64(1)
    return words
