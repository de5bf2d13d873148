"""Op sequences of one kind to those that the evaluation is made of: by a hidden Markov model, and two to compare with.

Paper 3.4 ("we select 200 operator sequences via a Hidden Markov Model"), which does not say how; definitions.md
section 6 does: a greedy cover of what the Viterbi paths hold, (state, state') and (state, op), where a feature not
covered yet gains -log of its probability under the model, so that what is rare counts more. `select_by_markov` covers
pairs of neighbouring ops instead, `select_at_random` nothing. All return sequences in the order taken, are
deterministic, and do not depend on the order of the rows; `coverage` is what they are compared by.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from passbench.cover import Features, distinct_features, greedy_cover, micro_nats
from passbench.hmm import Hmm, decode_states, encode
from passbench.op_sequence import OpSequence, in_hash_order, seeded_order

NUM_SELECTED = 200
"""Sequences per kind (paper 3.4)."""

# Below it a probability is none, as that of an op that the model has never seen: 27.6 nats.
_LEAST_PROBABILITY = 1e-12


def select_by_hmm(
    sequences: Iterable[OpSequence], hmm: Hmm, num_selected: int = NUM_SELECTED, kept: Sequence[str] = ()
) -> list[OpSequence]:
    """Select by a cover of states' transitions and of ops per state, as the model sees them.

    `kept`: the op_sequence_xxh3 of a former release's choice, which come first, in this order, and whose features count
    as covered. Raises ValueError for one that is not among the sequences.
    """
    ordered = in_hash_order(sequences)
    return _select(ordered, _hmm_features(ordered, hmm), num_selected, kept)


def select_by_markov(
    sequences: Iterable[OpSequence], num_selected: int = NUM_SELECTED, kept: Sequence[str] = ()
) -> list[OpSequence]:
    """Select by a cover of pairs of neighbouring ops; p is a pair's share of all; `kept` as in `select_by_hmm`."""
    ordered = in_hash_order(sequences)
    return _select(ordered, _bigram_features(ordered), num_selected, kept)


def select_at_random(
    sequences: Iterable[OpSequence], num_selected: int = NUM_SELECTED, kept: Sequence[str] = (), seed: int = 0
) -> list[OpSequence]:
    """Select by a seeded hash; of a larger corpus the choice is the same, less what newcomers push out."""
    ordered = in_hash_order(sequences)
    ordered.sort(key=lambda sequence: seeded_order(sequence.op_sequence_xxh3, seed))
    nothing = np.zeros(0, np.int64)
    return _select(ordered, distinct_features(nothing, nothing, nothing, len(ordered)), num_selected, kept)


@dataclass(frozen=True, slots=True)
class Coverage:
    """What a selection holds of all sequences; a share is null where there is nothing to hold.

    Weighted: share of all neighbouring pairs (ops) of all instances whose pair (op) the selection has.
    """

    num_selected: int
    num_sequences: int
    transition_frac: float | None
    transition_weighted_frac: float | None
    op_frac: float | None
    op_weighted_frac: float | None
    num_families: int
    family_frac: float | None


def coverage(selected: Collection[OpSequence], sequences: Collection[OpSequence]) -> Coverage:
    """Return the shares of distinct op pairs, ops and families of `sequences` that those selected of them have."""
    pairs: Counter[tuple[str, str]] = Counter()
    ops: Counter[str] = Counter()
    for sequence in sequences:
        for pair in pairwise(sequence.op_sequence):
            pairs[pair] += sequence.num_instances
        for op in sequence.op_sequence:
            ops[op] += sequence.num_instances
    selected_pairs = {pair for sequence in selected for pair in pairwise(sequence.op_sequence)}
    selected_ops = {op for sequence in selected for op in sequence.op_sequence}
    families = {family for sequence in sequences for family in sequence.families}
    selected_families = {family for sequence in selected for family in sequence.families}
    return Coverage(
        len(selected),
        len(sequences),
        _share(len(selected_pairs), len(pairs)),
        _share(sum(pairs[pair] for pair in selected_pairs), pairs.total()),
        _share(len(selected_ops), len(ops)),
        _share(sum(ops[op] for op in selected_ops), ops.total()),
        len(selected_families),
        _share(len(selected_families), len(families)),
    )


def _select(
    ordered: Sequence[OpSequence], features: Features, num_selected: int, kept: Sequence[str]
) -> list[OpSequence]:
    places = {sequence.op_sequence_xxh3: place for place, sequence in enumerate(ordered)}
    if gone := sorted(set(kept) - places.keys()):
        raise ValueError(
            f"{len(gone)} kept op sequences are not among these, the first {gone[0]}; build from a corpus that has them"
        )
    first = [places[key] for key in dict.fromkeys(kept)]
    return [ordered[place] for place in greedy_cover(features, num_selected, first)]


def _hmm_features(ordered: Sequence[OpSequence], hmm: Hmm) -> Features:
    """Number (state, state') from 0, (state, token) after them."""
    listed = [sequence.op_sequence for sequence in ordered]
    states, tokens, owners = decode_states(hmm, listed), encode(hmm.vocabulary, listed), _owners(listed)
    num_states, num_tokens = len(hmm.startprob), len(hmm.vocabulary)
    is_pair = owners[1:] == owners[:-1]
    transitions = (states[:-1] * num_states + states[1:])[is_pair]
    emissions = num_states * num_states + states * num_tokens + tokens
    probabilities = np.concatenate([np.array(hmm.transmat).ravel(), np.array(hmm.emissionprob).ravel()])
    weights = micro_nats(probabilities, _LEAST_PROBABILITY)
    both = np.concatenate([owners[1:][is_pair], owners]), np.concatenate([transitions, emissions])
    return distinct_features(*both, weights, len(ordered))


def _bigram_features(ordered: Sequence[OpSequence]) -> Features:
    listed = [sequence.op_sequence for sequence in ordered]
    vocabulary = sorted({op for ops in listed for op in ops})
    tokens, owners = encode(vocabulary, listed), _owners(listed)
    is_pair = owners[1:] == owners[:-1]
    pairs = (tokens[:-1] * len(vocabulary) + tokens[1:])[is_pair]
    _, ids, counts = np.unique(pairs, return_inverse=True, return_counts=True)
    weights = micro_nats(counts / max(1, len(pairs)), _LEAST_PROBABILITY)
    return distinct_features(owners[1:][is_pair], ids.astype(np.int64), weights, len(ordered))


def _owners(listed: Sequence[Sequence[str]]) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Return for each op of all sequences the number of its sequence."""
    return np.repeat(np.arange(len(listed), dtype=np.int64), np.array([len(ops) for ops in listed], np.int64))


def _share(part: int, whole: int) -> float | None:
    return part / whole if whole else None
