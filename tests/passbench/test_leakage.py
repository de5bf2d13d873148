"""Leaks found are those of the definition, all of them; sides told by family share none."""

from __future__ import annotations

import random
import time

from hypothesis import given, settings
from hypothesis import strategies as st

from passbench.leakage import (
    FamilyOverlap,
    Leak,
    LeakReason,
    drop_leaked,
    family_overlap,
    find_leaks,
    leaks,
    split_by_family,
)
from passbench.op_sequence import OpSequence


def made(ops: str, kind: str = "fusible", structures: str = "", families: str = "") -> OpSequence:
    """A sequence of one-letter ops, with one-letter structures and families."""
    return OpSequence(kind, tuple(ops), f"xxh3 of {ops}", 1, frozenset(families), frozenset(structures))


def is_leak(evaluation: OpSequence, training: OpSequence) -> str | None:
    """definitions.md section 6 once more, on text."""
    short, long = sorted(("".join(side.op_sequence) for side in (evaluation, training)), key=len)
    if short == long:
        return "equal_sequence"
    if short in long and len(short) * 2 > len(long):
        return "contained"
    return "equal_structure" if evaluation.structures & training.structures else None


def test_the_definition_by_example() -> None:
    assert leaks(made("abc"), made("abc", "classical")) is LeakReason.EQUAL_SEQUENCE
    assert leaks(made("abc"), made("xabcx")) is LeakReason.CONTAINED
    assert leaks(made("xabcx"), made("abc")) is LeakReason.CONTAINED
    assert leaks(made("abc"), made("xabcxx")) is None  # half of it, not more
    assert leaks(made("abc"), made("abxc")) is None  # not contiguous
    assert leaks(made("ab", structures="st"), made("cd", structures="tu")) is LeakReason.EQUAL_STRUCTURE
    assert leaks(made("ab", structures="s"), made("cd", structures="t")) is None
    assert leaks(made("a", "single_op"), made("a", "classical")) is LeakReason.EQUAL_SEQUENCE


sides = st.lists(
    st.builds(
        made,
        st.text("ab", min_size=1, max_size=13),
        st.sampled_from(["fusible", "classical", "single_op"]),
        st.text("stuvwxyz", max_size=2),
    ),
    max_size=12,
    unique_by=lambda sequence: (sequence.kind, sequence.op_sequence_xxh3),
)


@settings(max_examples=300, deadline=None)
@given(sides, sides)
def test_leaks_found_are_those_of_all_pairs(evaluation: list[OpSequence], training: list[OpSequence]) -> None:
    expected = {
        (e.kind, e.op_sequence_xxh3, t.kind, t.op_sequence_xxh3, reason)
        for e in evaluation
        for t in training
        if (reason := is_leak(e, t))
    }
    found = find_leaks(evaluation, training)
    rows = [(k.evaluation_kind, k.evaluation_xxh3, k.training_kind, k.training_xxh3, k.reason.value) for k in found]
    assert set(rows) == expected
    assert len(rows) == len(expected)
    assert found == find_leaks(evaluation[::-1], training[::-1])
    assert {(e.op_sequence_xxh3, leaks(e, t)) for e in evaluation for t in training if leaks(e, t)} == {
        (row[1], row[4]) for row in rows
    }
    left = drop_leaked(training, found)
    assert find_leaks(evaluation, left) == []
    assert all(sequence in left or any(is_leak(e, sequence) for e in evaluation) for sequence in training)


def test_only_the_leaked_kind_of_a_sequence_is_dropped() -> None:
    fusible, classical = made("ab", "fusible"), made("ab", "classical")
    leak = Leak("fusible", "x", "classical", "xxh3 of ab", LeakReason.CONTAINED)
    assert drop_leaked([fusible, classical], [leak]) == [fusible]


def test_many_sequences_take_seconds_not_hours() -> None:
    drawn = random.Random(0)
    listed = ["".join(drawn.choices("abcdefghijkl", k=drawn.randint(8, 14))) for _ in range(12_000)]
    sequences = [made(ops) for ops in dict.fromkeys(listed)]
    planted = [made("x" + sequence.op_sequence_xxh3.removeprefix("xxh3 of ")) for sequence in sequences[:50]]
    start = time.process_time()
    found = find_leaks(sequences[:6000], [*sequences[6000:], *planted])
    assert time.process_time() - start < 10  # 36 million pairs
    assert {leak.training_xxh3 for leak in found} >= {sequence.op_sequence_xxh3 for sequence in planted}


def test_family_overlap_names_what_is_shared() -> None:
    evaluation = [made("a", families="pq"), made("b", families="r")]
    training = [made("c", families="q"), made("d", families="qs"), made("e")]
    assert family_overlap(evaluation, training) == FamilyOverlap(("q",), 3, 2, 1, 2)


@given(sides, st.data(), st.integers(-3, 3))
def test_sides_told_by_family_share_none(listed: list[OpSequence], drawn: st.DataObject, seed: int) -> None:
    families = st.text("mnopqr", max_size=3)
    sequences = [made("".join(s.op_sequence), s.kind, families=drawn.draw(families)) for s in listed]
    split = split_by_family(sequences, 0.5, seed)
    assert sorted(map(str, (*split.evaluation, *split.training, *split.neither))) == sorted(map(str, sequences))
    assert family_overlap(split.evaluation, split.training).families == ()
    assert all(sequence.families for sequence in (*split.evaluation, *split.training))
    assert all(len(sequence.families) != 1 for sequence in split.neither)


def test_a_family_keeps_its_side_as_the_corpus_grows() -> None:
    sequences = [OpSequence("fusible", ("add",), str(n), 1, frozenset({f"family{n}"})) for n in range(1000)]
    split = split_by_family(sequences, 0.2)
    assert 150 < len(split.evaluation) < 250
    assert split_by_family(sequences[:500], 0.2).evaluation == tuple(
        s for s in split.evaluation if s in sequences[:500]
    )
