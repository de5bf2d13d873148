"""Fewer evaluation tasks than were asked for: why, in one line a kind, and what a build of no task at all says.

Pure: takes counts and sequences, says what a person reads.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from passbench.choice import ChoiceConfig
from passbench.leakage import SequenceKey, is_evaluation_family
from passbench.op_sequence import OpSequence


@dataclass(frozen=True, slots=True)
class Evaluated:
    """What a build had to choose evaluation tasks of: all op sequences, those that may be evaluated, those that leak
    what a former build trains on, and why some that were chosen make no task."""

    sequences: Collection[OpSequence]
    open_: Collection[OpSequence]
    barred: Collection[SequenceKey]
    degenerate: Mapping[SequenceKey, str]


def shortfalls(num_tasks: Mapping[str, int], config: ChoiceConfig, found: Evaluated) -> list[str]:
    """Return a line for each kind that has fewer evaluation tasks than were asked for, in the order of kinds."""
    return [
        f"{kind}: {num_tasks.get(kind, 0):,} of {config.num_selected:,} evaluation tasks asked for; "
        + ", ".join(_reasons(kind, config, found))
        for kind in config.kinds
        if num_tasks.get(kind, 0) < config.num_selected
    ]


def why_no_task(reasons: Iterable[str]) -> str:
    """Say of a build without tasks why its groups are none; `reasons` are those of `bench_dropped`."""
    counts = Counter(reasons)
    told = ", ".join(f"{count:,} {reason}" for reason, count in counts.most_common())
    return f"none of the {counts.total():,} groups is a task: {told}"


def _reasons(kind: str, config: ChoiceConfig, found: Evaluated) -> Iterable[str]:
    ours = [sequence for sequence in found.sequences if sequence.kind == kind]
    open_ = [sequence for sequence in found.open_ if sequence.kind == kind]
    if not ours:
        yield "the corpus has no op sequence of this kind"
        return
    if config.split_by_family:
        yield _by_family(ours, open_, config)
    most = int(config.most_frac * len(open_))
    if most < config.num_selected and open_:
        yield f"at most {config.most_frac:.0%} of {_count(open_)} ({most:,}) are for evaluation"
    if barred := [key for key in found.barred if key[0] == kind]:
        yield f"{len(barred):,} leak what the former build trains on"
    if degenerate := Counter(reason for key, reason in found.degenerate.items() if key[0] == kind):
        told = ", ".join(f"{count:,} {reason}" for reason, count in degenerate.most_common())
        yield f"{degenerate.total():,} make no task ({told})"


def _by_family(ours: list[OpSequence], open_: list[OpSequence], config: ChoiceConfig) -> str:
    families = {family for sequence in ours for family in sequence.families}
    evaluated = [family for family in families if is_evaluation_family(family, config.family_frac, config.seed)]
    return (
        f"--split-by-family --seed {config.seed} leaves {len(open_):,} of {_count(ours)} to evaluation: "
        f"{len(evaluated):,} of {len(families):,} families are on that side (another seed draws others)"
    )


def _count(sequences: Collection[OpSequence]) -> str:
    return f"{len(sequences):,} op sequence{'' if len(sequences) == 1 else 's'}"
