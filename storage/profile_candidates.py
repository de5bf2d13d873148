"""Which stored instances are to be timed, and their programs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from extract.shape_configs import DTYPES
from mining.subgraph import KINDS
from storage.corpus import Corpus
from storage.instances import instance_rows, render_stored
from storage.query import run_query
from storage.records import program_to_bytes

_MOST = (1 << 63) - 1


@dataclass(frozen=True, slots=True)
class ProfileChoice:
    """Which instances are timed: of these kinds and dtypes, of these models or by these hashes where given, that move
    at most `max_bytes`; `limit` of them drawn by `seed`. With `again` those that were timed before, too."""

    kinds: tuple[str, ...] = KINDS
    dtypes: tuple[str, ...] = DTYPES
    model_ids: tuple[str, ...] | None = None
    instances: tuple[str, ...] | None = None
    max_bytes: int | None = None
    limit: int | None = None
    seed: int = 0
    again: bool = False


def find_candidates(
    corpus: Corpus, choice: ProfileChoice, environment_sha256: str, backends: Sequence[str], cache: str
) -> list[str]:
    """Return the instances to be timed, in order: kinds and dtypes take turns, drawn by seed."""
    parameters: dict[str, object] = {
        "kinds": list(choice.kinds),
        "dtypes": list(choice.dtypes),
        "model_ids": None if choice.model_ids is None else list(choice.model_ids),
        "instances": None if choice.instances is None else list(choice.instances),
        "max_bytes": choice.max_bytes,
        "limit": _MOST if choice.limit is None else choice.limit,
        "seed": choice.seed,
        "again": choice.again,
        "environment_sha256": environment_sha256,
        "backends": list(backends),
        "cache": cache,
    }
    return [row["instance_sha256"] for row in run_query(corpus, "timing_candidates", parameters)]


def stored_programs(corpus: Corpus, instances: Sequence[str]) -> Iterator[tuple[str, bytes]]:
    """Yield each instance with its program as a payload; raises CorpusError where the corpus does not give it."""
    for instance in instances:
        row = instance_rows(corpus, instance)[0]
        yield instance, program_to_bytes(render_stored(corpus, row))
