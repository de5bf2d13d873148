"""Op sequences of all kinds to those that the evaluation side is made of, again as some turn out to make no task.

Paper 3.4: 200 sequences per kind are selected for evaluation; single ops are for training alone. A former release's
choice can be kept: it comes first, and nothing is added that would leak what was trained on. Pure: takes sequences,
says which.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal, get_args

from passbench.hmm import Hmm, HmmConfig, fit_hmm
from passbench.leakage import SequenceKey, find_leaks, key_of
from passbench.op_sequence import OpSequence
from passbench.selection import (
    NUM_SELECTED,
    Coverage,
    coverage,
    select_at_random,
    select_by_hmm,
    select_by_markov,
)

Method = Literal["hmm", "markov", "random"]
METHODS: tuple[Method, ...] = get_args(Method)
EVALUATED_KINDS = ("fusible", "classical")
"""Kinds with an evaluation side (paper 3.4: single ops are "complemented by 1,029 samples", all for training)."""


@dataclass(frozen=True, slots=True)
class ChoiceConfig:
    """How evaluation sequences are chosen: of which kinds, how many each, of fewer at most a share of them (a small
    corpus is to have a training side too), by which method and seed. With `split_by_family` a model family is on one
    side alone, about `family_frac` of them on the evaluation's."""

    kinds: tuple[str, ...] = EVALUATED_KINDS
    num_selected: int = NUM_SELECTED
    most_frac: float = 0.5
    method: Method = "hmm"
    seed: int = 0
    split_by_family: bool = False
    family_frac: float = 0.2
    hmm: HmmConfig = field(default_factory=HmmConfig)


@dataclass(frozen=True, slots=True)
class ComparedSelection:
    """What a way of selecting covers of the sequences of a kind; the one in use has its model."""

    kind: str
    method: Method
    is_used: bool
    coverage: Coverage
    model: Hmm | None


class EvaluationChooser:
    """Chooses among the sequences of each kind; what is fitted to them is fitted once.

    `kept` are keys of a former choice, which stay as long as the corpus has them; `trained` are former training
    sequences, and no other sequence that leaks one of them is chosen.
    """

    def __init__(
        self,
        sequences: Iterable[OpSequence],
        config: ChoiceConfig,
        kept: Collection[SequenceKey] = (),
        trained: Collection[OpSequence] = (),
    ) -> None:
        self._config = config
        self._by_kind: dict[str, list[OpSequence]] = {kind: [] for kind in config.kinds}
        for sequence in sequences:
            if sequence.kind in self._by_kind:
                self._by_kind[sequence.kind].append(sequence)
        self._kept = {kind: sorted(self._kept_of(kind, kept)) for kind in config.kinds}
        every = [sequence for found in self._by_kind.values() for sequence in found]
        leaking = {(leak.evaluation_kind, leak.evaluation_xxh3) for leak in find_leaks(every, trained)}
        self._barred = leaking - set(kept)
        self._models = {kind: fit_hmm(found, config.hmm) for kind, found in self._by_kind.items() if found}

    @property
    def barred(self) -> frozenset[SequenceKey]:
        """Sequences that are not chosen because they leak a former training sequence."""
        return frozenset(self._barred)

    def choose(self, excluded: Collection[SequenceKey] = ()) -> list[OpSequence]:
        """Return the evaluation sequences without those excluded (kept ones stay), in the order chosen, by kind."""
        return [sequence for kind in self._by_kind for sequence in self._select(kind, self._config.method, excluded)]

    def compare(self, excluded: Collection[SequenceKey] = ()) -> list[ComparedSelection]:
        """Return what each method covers of the sequences of each kind, under the same exclusions."""
        return [
            self._compared(kind, method, excluded)
            for kind, found in self._by_kind.items()
            for method in METHODS
            if found
        ]

    def _compared(self, kind: str, method: Method, excluded: Collection[SequenceKey]) -> ComparedSelection:
        covered = coverage(self._select(kind, method, excluded), self._by_kind[kind])
        model = self._models[kind] if method == "hmm" else None
        return ComparedSelection(kind, method, method == self._config.method, covered, model)

    def _select(self, kind: str, method: Method, excluded: Collection[SequenceKey]) -> list[OpSequence]:
        kept = self._kept[kind]
        out = (set(excluded) | self._barred) - {(kind, key) for key in kept}
        open_ = [sequence for sequence in self._by_kind[kind] if key_of(sequence) not in out]
        wanted = min(self._config.num_selected, int(self._config.most_frac * len(self._by_kind[kind])))
        if method == "markov":
            return select_by_markov(open_, wanted, kept)
        if method == "random":
            return select_at_random(open_, wanted, kept, self._config.seed)
        return select_by_hmm(open_, self._models[kind], wanted, kept) if open_ else []

    def _kept_of(self, kind: str, kept: Collection[SequenceKey]) -> Sequence[str]:
        there = {sequence.op_sequence_xxh3 for sequence in self._by_kind[kind]}
        return [xxh3 for of, xxh3 in kept if of == kind and xxh3 in there]
