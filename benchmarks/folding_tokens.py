"""Op sequences for the benchmark of folding: the real ones of corpora, then variations of them where too few.

Real: the op sequence of one graph per `graph_sha256`, ordered by it, which is as good as shuffled; the last one cut
where the wanted number of tokens is reached.

A variation is made of two real sequences drawn at random (which may be one): splice, the head of one up to a random op
and the tail of the other from a random op; repeat, a stretch of 2 to 64 ops of that, put in 1 to 3 times more behind
itself; drop, each op left out with probability 1/100. So a text of 10 M tokens is not one text of 1 M ten times over:
a window of 64 ops outlives the drops in about half of its copies, and each splice makes 63 windows that are new.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from pathlib import Path

from storage.corpus import Corpus

DROPPED_FRAC = 0.01
REPEATED_OPS = (2, 64)
REPEATS = (1, 3)


def read_sequences(corpora: Iterable[Path]) -> list[list[str]]:
    """Return the op names of each distinct graph of all corpora; equal names are one object."""
    found: dict[str, list[str]] = {}
    for path in corpora:
        with Corpus.open(path) as corpus:
            graphs = corpus.read("graphs", ["graph_sha256", "op_sequence"])
        column = graphs["op_sequence"].combine_chunks()
        coded = column.flatten().dictionary_encode()
        names: list[str] = coded.dictionary.to_pylist()
        ops = [names[index] for index in coded.indices.to_pylist()]
        start = 0
        for key, num_ops in zip(graphs["graph_sha256"].to_pylist(), column.value_lengths().to_pylist(), strict=True):
            found[key] = ops[start : start + num_ops]
            start += num_ops
    return [found[key] for key in sorted(found)]


def take_tokens(real: Sequence[Sequence[str]], num_tokens: int, seed: int) -> tuple[list[list[str]], int]:
    """Return sequences of exactly `num_tokens` ops together, and how many of those are real; `real` has ops."""
    taken: list[list[str]] = []
    left = _take(taken, real, num_tokens)
    num_real = num_tokens - left
    rng = random.Random(seed)
    while left:
        left = _take(taken, [vary(rng, rng.choice(real), rng.choice(real))], left)
    return taken, num_real


def vary(rng: random.Random, one: Sequence[str], other: Sequence[str]) -> list[str]:
    """Return a variation of two sequences: spliced, with a stretch repeated, and without some ops."""
    ops = [*one[: rng.randint(0, len(one))], *other[rng.randint(0, len(other)) :]]
    start, num_ops = rng.randint(0, len(ops)), rng.randint(*REPEATED_OPS)
    ops[start:start] = ops[start : start + num_ops] * rng.randint(*REPEATS)
    return [op for op in ops if rng.random() >= DROPPED_FRAC]


def _take(taken: list[list[str]], sequences: Iterable[Sequence[str]], left: int) -> int:
    """Append sequences until `left` ops are taken; return how many are still lacking."""
    for sequence in sequences:
        if not left:
            break
        if sequence:
            taken.append(list(sequence[:left]))
            left -= len(taken[-1])
    return left
