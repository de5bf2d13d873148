"""An op sequence and what the benchmark knows of it: what is selected, and what is on one side of the split.

One row per (kind, op sequence) of the corpus (definitions.md section 6). Hashes are made where rows are read and come
in as text, so that this package needs neither xxhash nor a table. Every choice here goes through `in_hash_order`, so
that none depends on the order of rows.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise


@dataclass(frozen=True, slots=True)
class OpSequence:
    """All instances of a kind that have one op sequence; `families` of their models, unknown ones left out.

    `structures` are the structure_sha256 of its subgraphs; `op_sequence_xxh3` is the column of table subgraphs.
    """

    kind: str
    op_sequence: tuple[str, ...]
    op_sequence_xxh3: str
    num_instances: int
    families: frozenset[str]
    structures: frozenset[str] = frozenset()


def in_hash_order(sequences: Iterable[OpSequence]) -> list[OpSequence]:
    """Return sequences of one kind by their xxh3, which is what breaks every tie.

    Raises ValueError where two have one hash, or one has no op.
    """
    ordered = sorted(sequences, key=lambda sequence: sequence.op_sequence_xxh3)
    for before, after in pairwise(ordered):
        if before.op_sequence_xxh3 == after.op_sequence_xxh3:
            raise ValueError(
                f"op sequence {after.op_sequence_xxh3} is there twice; give the rows of one kind at a time"
            )
    for sequence in ordered:
        if not sequence.op_sequence:
            raise ValueError(f"op sequence {sequence.op_sequence_xxh3} has no op; a subgraph has one at least")
    return ordered


def seeded_order(text: str, seed: int) -> int:
    """Return a number of 64 bits for a text: a random order that no library's version and no other text changes."""
    key = seed.to_bytes(8, "little", signed=True)
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8, key=key).digest(), "big")
