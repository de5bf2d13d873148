"""Instances in, their checks in the corpus out: those without one are run in children, shard by shard.

A run can be killed at any moment and started again: the manifest alone decides which instances were checked, and
each worker loses one shard at most.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from typing import Final

import pyarrow.compute as pc
from prefect.futures import PrefectFuture

from extract.sandbox import GIB, ChildFailed, Limits, StartFailed
from flows.in_order import commit_in_order
from flows.progress import Reporter
from passbench.instance_check import CHECK_ALGORITHM
from storage.corpus import Corpus
from storage.dedup import OPEN_CHECKS
from storage.errors import CorpusError
from tasks.bench_checks import CheckJob, CheckReport, CheckSession, check_shard, commit_checks
from tasks.sandbox_pool import SandboxPool

_WORKER: Final = "tasks.bench_worker"
_INSTANCES_PER_SHARD: Final = 16  # what a kill loses at most, per worker: some ten seconds
_MEMORY_BYTES: Final = 8 * GIB  # an instance moves 1 GiB at most; drawing it takes that in float32, three times


def check_missing(
    corpus: Corpus,
    instances: Iterable[str],
    num_workers: int,
    reporter: Reporter,
    seconds: float,
    *,
    retry_failed: bool = False,
) -> None:
    """Check those of the instances that have no check, each for at most `seconds`; runs within a flow.

    Half have theirs within a tenth of a second, convolutions in half precision take minutes on a CPU without
    instructions for it. With `retry_failed` those too that ran out of time or memory. Raises CorpusError where no child
    starts, and whatever writing raises.
    """
    missing = find_unchecked(corpus, instances, retry_failed=retry_failed)
    if not missing:
        return
    limits = Limits(seconds=seconds, resident_bytes=_MEMORY_BYTES)
    pool = SandboxPool(num_workers, limits=limits, worker=_WORKER)
    session = CheckSession(corpus, pool, CheckJob(_new_run_id(), seconds), reporter.advance)
    reporter.begin(len(missing), "checking", "checked", "instances")
    try:
        commit_in_order(
            _submitted(session, missing), lambda number, report: commit_checks(session, number, report), num_workers
        )
    except (StartFailed, ChildFailed) as error:
        raise CorpusError(f"instances cannot be run here ({error})", "check the installation") from error
    finally:
        pool.close()


def find_unchecked(corpus: Corpus, instances: Iterable[str], *, retry_failed: bool = False) -> list[str]:
    """Return the instances without a check by the present algorithm (or, to be tried again, with one that ran out of
    time or memory), sorted, each once."""
    rows = corpus.read("bench_checks", ["instance_sha256", "reason"], pc.field("algorithm") == CHECK_ALGORITHM)
    known = (row["instance_sha256"] for row in rows.to_pylist() if not (retry_failed and row["reason"] in OPEN_CHECKS))
    return sorted(set(instances).difference(known))


def _submitted(session: CheckSession, missing: Sequence[str]) -> Iterator[PrefectFuture[CheckReport]]:
    for number, start in enumerate(range(0, len(missing), _INSTANCES_PER_SHARD)):
        yield check_shard.submit(session, number, tuple(missing[start : start + _INSTANCES_PER_SHARD]))


def _new_run_id() -> str:
    """Return an id that says when the run began."""
    return f"bench-check-{datetime.now(UTC):%Y%m%dT%H%M%S}-{secrets.token_hex(3)}"
