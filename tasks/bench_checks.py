"""One shard of instances to rows of `bench_checks`: render each, have a child run it; several shards to one commit.

What a program does to its child costs that instance alone: a row that says so.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final

import pyarrow as pa
from prefect import task
from prefect.cache_policies import NO_CACHE

from extract.failure import Reason
from extract.sandbox import ChildFailed, Sandbox
from passbench.instance_check import CHECK_ALGORITHM, DID_NOT_END, NUM_DRAWS, Degenerate, InstanceCheck
from storage.corpus import Corpus
from storage.errors import CorpusError
from storage.profile_candidates import programs_or_errors
from storage.records import rows_to_table
from tasks.sandbox_pool import SandboxPool

_REASON_OF: Final = {Reason.TIMEOUT: Degenerate.TIMEOUT, Reason.OUT_OF_MEMORY: Degenerate.OUT_OF_MEMORY}
_NOT_ITS_FAULT: Final = (Reason.KILLED, Reason.BAD_REPLY)
_DETAIL_CHARS: Final = 500
_SEED_DIGITS: Final = 8


@dataclass(frozen=True, slots=True)
class CheckJob:
    """What a run was given: the seconds that a check may take. How it checks is an algorithm's, not a run's."""

    run_id: str
    seconds: float
    algorithm: str = CHECK_ALGORITHM
    num_draws: int = NUM_DRAWS


@dataclass
class CheckSession:
    """What the shards of one run share: corpus, children, and who is told of each instance, and if it did not run to
    its end."""

    corpus: Corpus
    pool: SandboxPool
    job: CheckJob
    on_instance: Callable[[str, bool], None]


@dataclass(frozen=True, slots=True)
class CheckReport:
    """What became of a shard: its rows of `bench_checks`, which are not written yet."""

    rows: pa.Table
    num_checked: int
    num_degenerate: int


@task(name="check-shard", task_run_name="check-shard-{number}", cache_policy=NO_CACHE, persist_result=False)
def check_shard(session: CheckSession, number: int, instances: Sequence[str]) -> CheckReport:
    """Check the instances of a shard in a child and return the rows; raises Stopped, StartFailed."""
    rows: list[dict[str, Any]] = []
    with session.pool.lease() as sandbox:
        for instance, program in programs_or_errors(session.corpus, instances):
            found, seconds = check_stored(session, sandbox, instance, program)
            rows.append(_row(instance, found, session.job, seconds))
            session.on_instance(instance[:12], found.reason in DID_NOT_END)
    return CheckReport(rows_to_table("bench_checks", rows), len(rows), sum(row["reason"] is not None for row in rows))


@task(name="commit-checks", cache_policy=NO_CACHE, persist_result=False)
def commit_checks(session: CheckSession, reports: Sequence[CheckReport]) -> int:
    """Make the checks of some shards part of the corpus; return the number of the manifest. Raises as `stage` does."""
    rows = pa.concat_tables([report.rows for report in reports])
    staged = session.corpus.stage({"bench_checks": rows}, session.job.run_id)
    return session.corpus.commit(staged, session.job.run_id, asdict(session.job)).number


def check_stored(
    session: CheckSession, sandbox: Sandbox, instance: str, program: bytes | CorpusError
) -> tuple[InstanceCheck, float]:
    """Return what a check of one stored instance found, also where it cannot be rendered or ends its child, and the
    seconds that it took: in the child where that answered, else until it was given up."""
    started = time.monotonic()
    if isinstance(program, CorpusError):
        reason, said = Degenerate.RAISES, str(program)
    else:
        try:
            request = {"do": "check", "seed": seed_of(instance), "num_draws": session.job.num_draws}
            return _ask(session.pool, sandbox, request, program)
        except ChildFailed as error:
            reason, said = _REASON_OF.get(error.reason, Degenerate.CRASHED), str(error)
    detail = " ".join(said.split()).encode("utf-8", "replace").decode()[:_DETAIL_CHARS]
    return InstanceCheck(reason, detail), time.monotonic() - started


def seed_of(instance_sha256: str) -> int:
    """Return the seed by which the operands of an instance's first draw are made."""
    return int(instance_sha256[:_SEED_DIGITS], 16)


def _ask(pool: SandboxPool, sandbox: Sandbox, request: dict[str, Any], program: bytes) -> tuple[InstanceCheck, float]:
    """Ask a child; `pool.ask` asks again, alone, where a used one ends, and so is done where another may have ended it.

    Raises ChildFailed.
    """
    try:
        return _read(pool.ask(sandbox, request, program)[0], sandbox)
    except ChildFailed as error:
        if error.reason not in _NOT_ITS_FAULT:
            raise
    return _read(pool.ask(sandbox, request, program)[0], sandbox)


def _read(reply: dict[str, Any], sandbox: Sandbox) -> tuple[InstanceCheck, float]:
    try:
        fields = dict(reply["check"])
        reason = fields["reason"] and Degenerate(fields["reason"])
        return InstanceCheck(**{**fields, "reason": reason}), float(reply["seconds"])
    except (KeyError, TypeError, ValueError) as error:
        sandbox.close()
        raise ChildFailed(Reason.BAD_REPLY, f"not the check of an instance: {error}") from error


def _row(instance: str, found: InstanceCheck, job: CheckJob, seconds: float) -> dict[str, Any]:
    """Return the row; of what ran out of time the seconds are those that it was given."""
    seconds = job.seconds if found.reason == Degenerate.TIMEOUT else seconds
    own = {"instance_sha256": instance, "algorithm": job.algorithm, "num_draws": job.num_draws, "seconds": seconds}
    return {**own, **asdict(found)}
