"""Weighted features of candidates to a choice of candidates: the greedy cover under every selection.

Each step takes the candidate with the most weight of features that none taken before has; ties go to the one given
first. The greedy choice is within 1 - 1/e of the best cover of its size (Nemhauser, Wolsey, Fisher 1978). Where nothing
is left to gain, the cover starts again over the candidates left: features are then covered a second time.

Gains are kept, not recomputed: a feature that gets covered is taken out of the gain of each candidate that has it, so a
round costs each (candidate, feature) pair once, and a step one pass over the gains. Weights are whole numbers, so that
no gain depends on the order of a sum and a tie is one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]

_TAKEN = -(1 << 62)


@dataclass(frozen=True, slots=True)
class Features:
    """Candidate i has the features `ids[offsets[i]:offsets[i + 1]]`, each once; `weights[id]` is 0 or more."""

    offsets: Integers
    ids: Integers
    weights: Integers


def distinct_features(owners: Integers, ids: Integers, weights: Integers, num_candidates: int) -> Features:
    """Return the features of pairs (candidate, feature), in any order, repeats taken out."""
    pairs = np.sort(owners * len(weights) + ids)  # np.unique would hash first, at ten times the cost
    pairs = pairs[np.diff(pairs, prepend=-1) != 0]
    counts = np.bincount(pairs // max(1, len(weights)), minlength=num_candidates)
    offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(counts, dtype=np.int64)])
    return Features(offsets, pairs % max(1, len(weights)), weights)


def greedy_cover(features: Features, num_selected: int, kept: Sequence[int] = ()) -> list[int]:
    """Return `num_selected` candidates in the order taken, or all there are: those `kept` first, then the greedy ones.

    More than `num_selected` are returned only where more are kept.
    """
    cover = _Cover(features)
    for candidate in kept:
        cover.take(candidate)
    wanted = min(num_selected, len(features.offsets) - 1) - len(kept)
    return [*kept, *(cover.take_best() for _ in range(wanted))]


def micro_nats(probabilities: NDArray[np.float64], least: float) -> Integers:
    """Return -log p as whole millionths; p below `least` counts as `least`."""
    return np.rint(-1e6 * np.log(np.maximum(probabilities, least))).astype(np.int64)


class _Cover:
    """What is left to gain from each candidate, kept up to date as candidates are taken."""

    def __init__(self, features: Features) -> None:
        self._features = features
        self._taken: list[int] = []
        owners = np.repeat(np.arange(len(features.offsets) - 1), np.diff(features.offsets))
        self._owners = owners[np.argsort(features.ids, kind="stable")]
        counts = np.bincount(features.ids, minlength=len(features.weights))
        self._owner_offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(counts)])
        self._start_round()

    def take_best(self) -> int:
        """Take and return the candidate of the largest gain."""
        best = int(np.argmax(self._gains))  # the first of the largest
        if self._gains[best] <= 0:
            self._start_round()
            best = int(np.argmax(self._gains))
        self.take(best)
        return best

    def take(self, candidate: int) -> None:
        """Cover the features of a candidate."""
        begin, end = self._features.offsets[candidate : candidate + 2]
        self._cover_features(self._features.ids[begin:end])
        self._taken.append(candidate)
        self._gains[candidate] = _TAKEN

    def _cover_features(self, ids: Iterable[np.int64]) -> None:
        for feature in ids:
            if not self._is_covered[feature]:
                self._is_covered[feature] = True
                begin, end = self._owner_offsets[feature : feature + 2]
                self._gains[self._owners[begin:end]] -= self._features.weights[feature]

    def _start_round(self) -> None:
        """Count every feature as not covered; what was taken stays taken."""
        self._is_covered = np.zeros(len(self._features.weights), np.bool_)
        sums = np.concatenate([np.zeros(1, np.int64), np.cumsum(self._features.weights[self._features.ids])])
        self._gains = sums[self._features.offsets[1:]] - sums[self._features.offsets[:-1]]
        self._gains[self._taken] = _TAKEN
