"""Op sequences to a hidden Markov model of them, and sequences to their most likely states under it.

Fitted by hmmlearn's CategoricalHMM (Baum-Welch), decoded by the Viterbi algorithm below (Rabiner 1989, sections III B
and III C), which needs numpy alone: the model is stored with a release as text, and gives the same paths when it is
read back without hmmlearn. Tokens are ops seen at least `min_count` times in the sequences fitted, and UNK for the
others. Fitting is deterministic on one machine and for one version of hmmlearn; decoding is everywhere.
"""

from __future__ import annotations

import json
import logging
from collections import Counter
from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from importlib import import_module
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from passbench.op_sequence import OpSequence, in_hash_order

UNK = "<unk>"
# Logarithms are whole numbers of this part of a nat: sums are exact, so that paths do not hang on a machine's rounding.
_PARTS = 1e9
# The logarithm of probability 0: below any possible path of up to 700 ops, yet finite, so that of impossible paths one
# with fewer impossible steps is taken.
_LOG_ZERO = -1e6
# Sequences decoded at once: their steps' (sequence, state, state) scores fit the cache.
_BLOCK = 512


@dataclass(frozen=True, slots=True)
class HmmConfig:
    """definitions.md section 6; one thread, as the C++ loops of hmmlearn's CategoricalHMM always are.

    `max_sequences`: of more, those of the lowest xxh3 are fitted, a sample that hardly changes as a corpus grows;
    fitting costs 36 us per sequence of 22 ops and iteration, 9 s for these, so that a build stays within a minute.
    """

    num_states: int = 16
    num_iterations: int = 50
    seed: int = 0
    min_count: int = 2
    max_sequences: int = 5_000


@dataclass(frozen=True, slots=True)
class Hmm:
    """The model of one kind; emissionprob[state][token], where `vocabulary` names the tokens, UNK the last."""

    config: HmmConfig
    vocabulary: tuple[str, ...]
    startprob: tuple[float, ...]
    transmat: tuple[tuple[float, ...], ...]
    emissionprob: tuple[tuple[float, ...], ...]


def fit_hmm(sequences: Iterable[OpSequence], config: HmmConfig | None = None) -> Hmm:
    """Fit the model of the sequences of one kind, each once, whatever its number of instances.

    Always `num_iterations` iterations, no early end. Raises ValueError when there is no sequence.
    """
    config = config or HmmConfig()
    fitted = [sequence.op_sequence for sequence in in_hash_order(sequences)[: config.max_sequences]]
    if not fitted:
        raise ValueError("no op sequence to fit a hidden Markov model to; mine subgraphs of this kind first")
    counts = Counter(chain.from_iterable(fitted))
    vocabulary = (*sorted(op for op, count in counts.items() if count >= config.min_count), UNK)
    hmmlearn: Any = import_module("hmmlearn.hmm")  # 1 s, and no types: loaded by those alone who fit
    model = hmmlearn.CategoricalHMM(
        config.num_states,
        n_iter=config.num_iterations,
        tol=-np.inf,
        random_state=config.seed,
        n_features=len(vocabulary),
        implementation="scaling",
    )
    with _silenced("hmmlearn"):  # it tells at each iteration that a state is never left
        model.fit(encode(vocabulary, fitted)[:, None], [len(ops) for ops in fitted])
    transmat, emissionprob = _as_rows(model.transmat_.tolist()), _as_rows(model.emissionprob_.tolist())
    return Hmm(config, vocabulary, tuple(model.startprob_.tolist()), transmat, emissionprob)


def encode(vocabulary: Sequence[str], sequences: Iterable[Sequence[str]]) -> NDArray[np.int64]:
    """Return all ops of all sequences as their places in a vocabulary, the last for those it lacks."""
    places = {op: place for place, op in enumerate(vocabulary)}
    return np.array([places.get(op, len(vocabulary) - 1) for ops in sequences for op in ops], np.int64)


def decode_states(hmm: Hmm, sequences: Sequence[Sequence[str]]) -> NDArray[np.int64]:
    """Return the states of the most likely path of each sequence, one per op, sequence after sequence.

    Of equally likely paths, to 1e-9 in the logarithm of each step, the one that comes from the lower state is taken.
    0.2 s per 10,000 sequences.
    """
    tokens = encode(hmm.vocabulary, sequences)
    lengths = np.array([len(ops) for ops in sequences], np.int64)
    starts = np.cumsum(lengths) - lengths
    states = np.empty(len(tokens), np.int64)
    viterbi = _Viterbi(hmm)
    longest_first = np.argsort(-lengths, kind="stable")
    for begin in range(0, len(longest_first), _BLOCK):
        block = longest_first[begin : begin + _BLOCK]
        steps = np.arange(int(lengths[block[0]]))
        is_there = steps[None, :] < lengths[block, None]
        places = (starts[block, None] + steps[None, :])[is_there]
        padded = np.zeros(is_there.shape, np.int64)
        padded[is_there] = tokens[places]
        states[places] = viterbi.decode(padded, lengths[block])[is_there]
    return states


def to_text(hmm: Hmm) -> str:
    """Return a model as one line of JSON, from which `from_text` makes an equal one."""
    return json.dumps(asdict(hmm), separators=(",", ":"))


def from_text(text: str) -> Hmm:
    """Return the model that `to_text` wrote."""
    fields = json.loads(text)
    transmat, emissionprob = _as_rows(fields["transmat"]), _as_rows(fields["emissionprob"])
    config, vocabulary, startprob = HmmConfig(**fields["config"]), fields["vocabulary"], fields["startprob"]
    return Hmm(config, tuple(vocabulary), tuple(startprob), transmat, emissionprob)


class _Viterbi:
    """The logarithms of a model, and the search over many sequences at once."""

    def __init__(self, hmm: Hmm) -> None:
        self._start = _logarithms(hmm.startprob)
        self._to_from = _logarithms(hmm.transmat).T.copy()
        self._emission = _logarithms(hmm.emissionprob).T.copy()

    def decode(self, tokens: NDArray[np.int64], lengths: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return states for tokens[sequence, step], longest sequences first; past an end they mean nothing."""
        num_sequences, num_steps = tokens.shape
        origins = np.empty((num_steps, num_sequences, len(self._start)), np.int64)
        scores = self._start + self._emission[tokens[:, 0]]
        for step in range(1, num_steps):
            num_left = int(np.searchsorted(-lengths, -step))
            ways = scores[:num_left, None, :] + self._to_from
            origins[step, :num_left] = np.argmax(ways, axis=2)
            scores[:num_left] = ways.max(axis=2) + self._emission[tokens[:num_left, step]]
        states = np.zeros_like(tokens)
        states[np.arange(num_sequences), lengths - 1] = np.argmax(scores, axis=1)
        for step in range(num_steps - 1, 0, -1):
            num_left = int(np.searchsorted(-lengths, -step))
            states[:num_left, step - 1] = origins[step, np.arange(num_left), states[:num_left, step]]
        return states


def _logarithms(probabilities: Any) -> NDArray[np.int64]:
    array = np.array(probabilities, np.float64)
    logarithms = np.where(array > 0, np.log(np.where(array > 0, array, 1.0)), _LOG_ZERO)
    return np.rint(_PARTS * logarithms).astype(np.int64)


@contextmanager
def _silenced(name: str) -> Generator[None]:
    """Keep a logger from anything less than an error."""
    logger = logging.getLogger(name)
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        logger.setLevel(level)


def _as_rows(matrix: list[list[float]]) -> tuple[tuple[float, ...], ...]:
    return tuple(tuple(row) for row in matrix)
