"""What a run of mining is about: which kinds of subgraphs, by which grammar."""

from __future__ import annotations

from dataclasses import dataclass

from mining.subgraph import CLASSICAL, KINDS, SINGLE_OP
from storage.errors import UsageError

DEFAULT_KINDS = (CLASSICAL, SINGLE_OP)
"""Kinds that need no kernel curves."""
FUSIBLE_TARGET = "cuda:a30"
"""Whose curves tell fusible subgraphs by default."""
NUM_FOLDS = 256
"""Folds of a grammar by default: the paper's 16 reach a third of the ops of timm and transformers, 256 two thirds."""
MAX_LENGTH = 64
"""Longest pattern of one fold, in symbols: the paper's."""


@dataclass(frozen=True, slots=True)
class MiningConfig:
    """What a run of mining was given: the kinds, whether to learn a grammar anew and how, how many processes, and the
    target whose kernel curves tell what is fusible."""

    kinds: tuple[str, ...] = DEFAULT_KINDS
    learn: bool = False
    num_folds: int = NUM_FOLDS
    max_length: int = MAX_LENGTH
    workers: int = 1
    target: str = FUSIBLE_TARGET


def check_kinds(kinds: str) -> tuple[str, ...]:
    """Return the kinds named in a comma-separated list; raises UsageError for others."""
    names = tuple(dict.fromkeys(name.strip() for name in kinds.split(",") if name.strip()))
    for name in names:
        if name not in KINDS:
            raise UsageError(f"unknown kind {name!r}", f"choose among {', '.join(KINDS)}")
    if not names:
        raise UsageError(f"--kinds {kinds!r} names nothing", f"choose among {', '.join(KINDS)}")
    return names
