"""Evaluation and training op sequences to what leaks between them, by definition and by families.

Paper 3.4 ("no overlap between training and evaluation sets"); definitions.md section 6 says what a leak is. Sequences
of all kinds are compared with one another; the training side of a leak is dropped. What resembles without being a leak
is found by `passbench.near_duplicates`, and reported only. Pure, exact, in any order of the rows.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from passbench.op_sequence import OpSequence, seeded_order

SequenceKey = tuple[str, str]
"""kind, op_sequence_xxh3"""

# Ops by which a part is told from those that no whole sequence begins like.
_PREFIX = 4


class LeakReason(StrEnum):
    """Why a training sequence gives an evaluation sequence away; of several the first here."""

    EQUAL_SEQUENCE = "equal_sequence"
    CONTAINED = "contained"
    EQUAL_STRUCTURE = "equal_structure"


@dataclass(frozen=True, slots=True)
class Leak:
    """One row of the leakage report: a pair across the split."""

    evaluation_kind: str
    evaluation_xxh3: str
    training_kind: str
    training_xxh3: str
    reason: LeakReason


def leaks(evaluation: OpSequence, training: OpSequence) -> LeakReason | None:
    """Return why a training sequence leaks an evaluation one, as defined, or None.

    Equal op sequence; or the shorter is a contiguous part of the longer and longer than half of it; or a subgraph of
    each have equal structure_sha256.
    """
    shorter, longer = sorted((evaluation.op_sequence, training.op_sequence), key=len)
    if shorter == longer:
        return LeakReason.EQUAL_SEQUENCE
    if shorter in _parts(longer, {len(shorter)}):
        return LeakReason.CONTAINED
    return None if evaluation.structures.isdisjoint(training.structures) else LeakReason.EQUAL_STRUCTURE


def find_leaks(evaluation: Iterable[OpSequence], training: Iterable[OpSequence]) -> list[Leak]:
    """Return a leak for each pair that has one, by the hashes of evaluation, then of training.

    Parts longer than half of a sequence are looked up among the other side's whole sequences, by their ops, those alone
    that begin like one of them and are as long: n / 2 look-ups for n ops, and n * n / 8 at the very most.
    1 s for 600 against 100,000.
    """
    asked, held = list(evaluation), list(training)
    found: dict[tuple[int, int], LeakReason] = {}
    for pair in _shared_structures(asked, held):
        found[pair] = LeakReason.EQUAL_STRUCTURE
    pairs = [(a, h) for h, a in _whole_in_parts(asked, held)] + list(_whole_in_parts(held, asked))
    for a, h in pairs:
        is_equal = asked[a].op_sequence == held[h].op_sequence
        found[a, h] = LeakReason.EQUAL_SEQUENCE if is_equal else LeakReason.CONTAINED
    made = [_make_leak(asked[a], held[h], reason) for (a, h), reason in found.items()]
    return sorted(
        made, key=lambda leak: (leak.evaluation_xxh3, leak.evaluation_kind, leak.training_xxh3, leak.training_kind)
    )


def drop_leaked(training: Iterable[OpSequence], found: Iterable[Leak]) -> list[OpSequence]:
    """Return the training sequences that are in no leak, in their order."""
    dropped = {(leak.training_kind, leak.training_xxh3) for leak in found}
    return [sequence for sequence in training if key_of(sequence) not in dropped]


def key_of(sequence: OpSequence) -> SequenceKey:
    """Return what tells a sequence from all others, those of other kinds too."""
    return sequence.kind, sequence.op_sequence_xxh3


@dataclass(frozen=True, slots=True)
class FamilyOverlap:
    """Model families on both sides, by name, and how many sequences of each side have one of them."""

    families: tuple[str, ...]
    num_evaluation_families: int
    num_training_families: int
    num_evaluation_sequences: int
    num_training_sequences: int


def family_overlap(evaluation: Collection[OpSequence], training: Collection[OpSequence]) -> FamilyOverlap:
    """Return which families the two sides share."""
    sides = [{family for sequence in side for family in sequence.families} for side in (evaluation, training)]
    shared = sides[0] & sides[1]
    touched = [sum(not shared.isdisjoint(sequence.families) for sequence in side) for side in (evaluation, training)]
    return FamilyOverlap(tuple(sorted(shared)), *map(len, sides), *touched)


@dataclass(frozen=True, slots=True)
class FamilySplit:
    """Sequences that may be evaluated, those to train on, and `neither`: of families on both sides, or unknown."""

    evaluation: tuple[OpSequence, ...]
    training: tuple[OpSequence, ...]
    neither: tuple[OpSequence, ...]


def split_by_family(sequences: Iterable[OpSequence], evaluation_frac: float = 0.2, seed: int = 0) -> FamilySplit:
    """Give each model family a side, and each sequence that of all its families; to be done before a selection.

    A family's side hangs on its name and the seed alone, so that it stays as a corpus grows; about `evaluation_frac` of
    the families are the evaluation's. `family_overlap` of the two sides is then empty.
    """
    sides: dict[bool | None, list[OpSequence]] = {True: [], False: [], None: []}
    for sequence in sequences:
        taken = {is_evaluation_family(family, evaluation_frac, seed) for family in sequence.families}
        sides[taken.pop() if len(taken) == 1 else None].append(sequence)
    return FamilySplit(tuple(sides[True]), tuple(sides[False]), tuple(sides[None]))


def is_evaluation_family(family: str, evaluation_frac: float, seed: int) -> bool:
    """Tell whether `split_by_family` gives a family to the evaluation side."""
    return seeded_order(family, seed) < evaluation_frac * 2**64


def _parts(ops: tuple[str, ...], lengths: Collection[int]) -> Iterator[tuple[str, ...]]:
    """Yield the contiguous parts longer than half, the whole too, of the lengths that are asked for."""
    for length in range(len(ops) // 2 + 1, len(ops) + 1):
        if length in lengths:
            for start in range(len(ops) - length + 1):
                yield ops[start : start + length]


def _whole_in_parts(wholes: Sequence[OpSequence], longer: Sequence[OpSequence]) -> Iterator[tuple[int, int]]:
    """Yield (longer, whole), by number, where a whole sequence is a part of a longer one, or equal."""
    numbers: defaultdict[tuple[str, ...], list[int]] = defaultdict(list)
    for number, sequence in enumerate(wholes):
        numbers[sequence.op_sequence].append(number)
    lengths = {len(ops) for ops in numbers}
    lengths_by_prefix: defaultdict[tuple[str, ...], set[int]] = defaultdict(set)
    for ops in numbers:
        lengths_by_prefix[ops[:_PREFIX]].add(len(ops))
    for number, sequence in enumerate(longer):
        ops = sequence.op_sequence
        is_long = len(ops) // 2 + 1 >= _PREFIX  # then each of its parts has a prefix
        for part in _likely_parts(ops, lengths_by_prefix) if is_long else _parts(ops, lengths):
            for whole in numbers.get(part, ()):
                yield number, whole


def _likely_parts(
    ops: tuple[str, ...], lengths_by_prefix: Mapping[tuple[str, ...], Collection[int]]
) -> Iterator[tuple[str, ...]]:
    """Yield the parts longer than half that begin like a whole sequence of their length."""
    half = len(ops) // 2
    for start in range(len(ops) - half):
        for length in lengths_by_prefix.get(ops[start : start + _PREFIX], ()):
            if half < length <= len(ops) - start:
                yield ops[start : start + length]


def _shared_structures(evaluation: Sequence[OpSequence], training: Sequence[OpSequence]) -> Iterator[tuple[int, int]]:
    numbers: defaultdict[str, list[int]] = defaultdict(list)
    for number, sequence in enumerate(evaluation):
        for structure in sequence.structures:
            numbers[structure].append(number)
    for number, sequence in enumerate(training):
        for structure in sequence.structures:
            for other in numbers.get(structure, ()):
                yield other, number


def _make_leak(evaluation: OpSequence, training: OpSequence, reason: LeakReason) -> Leak:
    return Leak(*key_of(evaluation), *key_of(training), reason)
