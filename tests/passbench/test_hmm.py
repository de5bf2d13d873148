"""A fitted model is hmmlearn's, survives as text, and its paths are those that hmmlearn finds."""

from __future__ import annotations

import math
import random
import subprocess
import sys
from collections.abc import Sequence
from itertools import pairwise, product
from pathlib import Path

import numpy as np
import pytest
from hmmlearn.hmm import CategoricalHMM
from hypothesis import given, settings
from hypothesis import strategies as st

from passbench.hmm import UNK, Hmm, HmmConfig, decode_states, encode, fit_hmm, from_text, to_text
from passbench.op_sequence import OpSequence

ROOT = Path(__file__).resolve().parents[2]
OPS = ("add", "conv2d", "gelu", "layer_norm", "linear", "mul", "relu", "softmax")
Rows = tuple[tuple[float, ...], ...]
SMALL = HmmConfig(num_states=4, num_iterations=8, seed=3)


def made(listed: list[tuple[str, ...]]) -> list[OpSequence]:
    return [OpSequence("fusible", ops, f"{number:032x}", 1, frozenset()) for number, ops in enumerate(listed)]


def some_sequences(num_sequences: int, seed: int = 0) -> list[OpSequence]:
    drawn = random.Random(seed)
    return made([tuple(drawn.choices(OPS, k=drawn.randint(1, 12))) for _ in range(num_sequences)])


def as_hmmlearn(hmm: Hmm) -> CategoricalHMM:
    model = CategoricalHMM(len(hmm.startprob), n_features=len(hmm.vocabulary))
    model.startprob_, model.transmat_ = np.array(hmm.startprob), np.array(hmm.transmat)
    model.emissionprob_ = np.array(hmm.emissionprob)
    return model


def log_likelihood(hmm: Hmm, ops: Sequence[str], states: Sequence[int]) -> float:
    """The logarithm of the probability of a path with its ops; -1e6 for each step that is impossible."""
    tokens = encode(hmm.vocabulary, [ops])
    emitted = [hmm.emissionprob[state][token] for state, token in zip(states, tokens, strict=True)]
    moved = [hmm.transmat[before][after] for before, after in pairwise(states)]
    return sum(math.log(p) if p else -1e6 for p in (hmm.startprob[states[0]], *emitted, *moved))


def test_paths_are_those_of_hmmlearn_but_for_ties() -> None:
    sequences = some_sequences(1200)  # more than are decoded at once
    hmm = fit_hmm(sequences, SMALL)
    listed = [sequence.op_sequence for sequence in sequences]
    ends = np.cumsum([len(ops) for ops in listed])[:-1]
    paths = np.split(decode_states(hmm, listed), ends)
    _, expected = as_hmmlearn(hmm).decode(encode(hmm.vocabulary, listed)[:, None], [len(ops) for ops in listed])
    differing = 0
    for ops, path, theirs in zip(listed, paths, np.split(expected, ends), strict=True):
        assert log_likelihood(hmm, ops, path) == pytest.approx(log_likelihood(hmm, ops, theirs), rel=0, abs=1e-7)
        differing += not np.array_equal(path, theirs)
    assert differing <= 5  # paths of the same steps in another order, where hmmlearn follows a rounding error


def test_a_fit_is_that_of_hmmlearn_over_sequences_in_hash_order() -> None:
    sequences = some_sequences(50)
    hmm = fit_hmm(reversed(sequences), SMALL)
    model = CategoricalHMM(4, n_iter=8, tol=-np.inf, random_state=3, n_features=len(OPS) + 1)
    listed = [sequence.op_sequence for sequence in sequences]
    model.fit(encode(hmm.vocabulary, listed)[:, None], [len(ops) for ops in listed])
    assert hmm.vocabulary == (*OPS, UNK)
    assert np.allclose(hmm.transmat, model.transmat_)
    assert np.allclose(hmm.emissionprob, model.emissionprob_)
    assert hmm == fit_hmm(sequences, SMALL)


def test_ops_seen_once_are_one_token() -> None:
    hmm = fit_hmm(made([("add", "relu"), ("add", "rare"), ("relu", "rarer")]), SMALL)
    assert hmm.vocabulary == ("add", "relu", UNK)
    assert encode(hmm.vocabulary, [("add", "rare"), ("never",)]).tolist() == [0, 2, 2]


def test_of_many_sequences_the_first_in_hash_order_are_fitted() -> None:
    sequences = some_sequences(40)
    limited = HmmConfig(num_states=4, num_iterations=8, seed=3, max_sequences=25)
    assert fit_hmm(sequences, limited).transmat == fit_hmm(sequences[:25], SMALL).transmat


def test_single_ops_have_a_model_and_it_says_nothing(caplog: pytest.LogCaptureFixture) -> None:
    sequences = made([(op,) for op in OPS for _ in range(2)])
    assert decode_states(fit_hmm(sequences, SMALL), [("add",), ("never",)]).shape == (2,)
    assert not caplog.records


def test_no_sequence_is_no_model() -> None:
    with pytest.raises(ValueError, match="no op sequence"):
        fit_hmm([])


def probabilities(num_rows: int, num_columns: int) -> st.SearchStrategy[Rows]:
    counts = st.lists(st.integers(0, 6), min_size=num_columns, max_size=num_columns).filter(any)
    rows = counts.map(lambda row: tuple(count / sum(row) for count in row))
    return st.lists(rows, min_size=num_rows, max_size=num_rows).map(tuple)


@settings(deadline=None)
@given(
    probabilities(1, 3),
    probabilities(3, 3),
    probabilities(3, 4),
    st.lists(st.sampled_from("abcd"), min_size=1, max_size=5),
)
def test_a_path_is_as_likely_as_any(start: Rows, transmat: Rows, emission: Rows, ops: list[str]) -> None:
    hmm = Hmm(HmmConfig(num_states=3), ("a", "b", "c", UNK), start[0], transmat, emission)
    best = max(log_likelihood(hmm, ops, path) for path in product(range(3), repeat=len(ops)))
    assert log_likelihood(hmm, ops, decode_states(hmm, [ops]).tolist()) == pytest.approx(best, rel=0, abs=1e-7)


def test_a_model_read_back_decodes_without_hmmlearn() -> None:
    sequences = some_sequences(60)
    hmm = fit_hmm(sequences, SMALL)
    assert from_text(to_text(hmm)) == hmm
    listed = [sequence.op_sequence for sequence in sequences]
    code = (
        "import sys; from passbench.hmm import decode_states, from_text; import passbench.selection\n"
        f"hmm = from_text(sys.stdin.read()); print(*decode_states(hmm, {listed!r}))\n"
        "assert not {'hmmlearn', 'sklearn', 'scipy', 'torch', 'pyarrow', 'xxhash'} & set(sys.modules)"
    )
    run = subprocess.run(
        [sys.executable, "-c", code], input=to_text(hmm), cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert [int(state) for state in run.stdout.split()] == decode_states(hmm, listed).tolist()
