"""Fewer evaluation tasks than asked for: which reasons are told, with which counts."""

from __future__ import annotations

import re

from passbench.choice import ChoiceConfig
from passbench.op_sequence import OpSequence
from passbench.shortfall import Evaluated, shortfalls, why_no_task


def sequences(kind: str, count: int, family: str = "vit") -> list[OpSequence]:
    return [
        OpSequence(kind, ("add", f"op{number}"), f"{number:032x}", 1, frozenset({family}), frozenset())
        for number in range(count)
    ]


def test_a_kind_that_has_what_was_asked_for_is_not_told() -> None:
    found = Evaluated(sequences("fusible", 8), sequences("fusible", 8), [], {})
    config = ChoiceConfig(kinds=("fusible",), num_selected=4)
    assert shortfalls({"fusible": 4}, config, found) == []
    assert len(shortfalls({"fusible": 3}, config, found)) == 1


def test_a_small_corpus_a_leak_of_former_tasks_and_degenerate_sequences_are_told_with_counts() -> None:
    every = sequences("fusible", 9)
    keys = [("fusible", sequence.op_sequence_xxh3) for sequence in every]
    degenerate = {keys[0]: "zeros", keys[1]: "timeout", keys[2]: "zeros", ("classical", "x"): "mean"}
    found = Evaluated(every, every, [keys[3], ("classical", "y")], degenerate)
    first, second = shortfalls({"fusible": 2}, ChoiceConfig(num_selected=200), found)
    assert first == (
        "fusible: 2 of 200 evaluation tasks asked for; at most 50% of 9 op sequences (4) are for evaluation, "
        "1 leak what the former build trains on, 3 make no task (2 zeros, 1 timeout)"
    )
    assert second == "classical: 0 of 200 evaluation tasks asked for; the corpus has no op sequence of this kind"


def test_families_that_leave_nothing_to_evaluation_are_told_with_the_seed() -> None:
    config = ChoiceConfig(kinds=("fusible",), num_selected=2, split_by_family=True, seed=3, family_frac=0.0)
    (line,) = shortfalls({}, config, Evaluated(sequences("fusible", 7), [], [], {}))
    assert re.search("--seed 3 leaves 0 of 7 op sequences to evaluation: 0 of 1 families", line)
    assert "at most" not in line


def test_a_build_without_tasks_says_why_by_the_commonest_reason_first() -> None:
    told = why_no_task(["leak", *["timeout"] * 900])
    assert told == "none of the 901 groups is a task: 900 timeout, 1 leak"
