"""Which stored instances are to be timed, and their programs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from extract.shape_configs import DTYPES
from mining.subgraph import KINDS
from storage.corpus import Corpus
from storage.errors import CorpusError
from storage.instances import damaged_instance, first_rows, render_each
from storage.query import run_query
from storage.records import program_to_bytes

_MOST = (1 << 63) - 1
_INSTANCES_PER_READ = 32  # cut out of as many graphs of a megabyte at most, mostly


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
    """Yield instances in the order given, each with its program as a payload; raises CorpusError at one that the corpus
    does not give."""
    for instance, program in programs_or_errors(corpus, instances):
        if isinstance(program, CorpusError):
            raise program
        yield instance, program


def programs_or_errors(corpus: Corpus, instances: Sequence[str]) -> Iterator[tuple[str, bytes | CorpusError]]:
    """Yield instances in the order given, each with its program as a payload, or why the corpus does not give it."""
    for start in range(0, len(instances), _INSTANCES_PER_READ):
        wanted = instances[start : start + _INSTANCES_PER_READ]
        programs = dict(render_each(corpus, first_rows(corpus, wanted).values()))
        for instance in wanted:
            program = programs.get(instance) or damaged_instance(corpus, instance, "no row of instances")
            yield instance, program if isinstance(program, CorpusError) else program_to_bytes(program)
