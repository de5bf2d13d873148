"""Instances to whether they make a task: what the corpus knows of them, else what running them in children finds.

A run can be killed at any moment and started again: the manifest alone decides which instances were checked. What was
found is committed every half minute and at the end, so a kill loses that much, and of each worker one shard.
"""

from __future__ import annotations

import secrets
import time
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from datetime import UTC, datetime
from types import TracebackType
from typing import Any, Final, Self

import pyarrow as pa
import pyarrow.compute as pc
from prefect.futures import PrefectFuture

from extract.sandbox import GIB, ChildFailed, Limits, StartFailed
from flows.in_order import commit_in_order
from flows.progress import Reporter
from passbench.instance_check import CHECK_ALGORITHM, Degenerate
from storage.bench_build import Verdict
from storage.corpus import Corpus
from storage.dedup import OPEN_CHECKS
from storage.errors import CorpusError
from storage.instances import first_rows
from storage.schemas import KEYS
from tasks.bench_checks import CheckJob, CheckReport, CheckSession, check_shard, commit_checks
from tasks.sandbox_pool import SandboxPool

_WORKER: Final = "tasks.bench_worker"
_INSTANCES_PER_SHARD: Final = 32  # half a minute; their graphs are read together
_COMMIT_SECONDS: Final = 30.0
_MEMORY_BYTES: Final = 8 * GIB  # an instance moves 1 GiB at most; drawing it takes that in float32, three times

_Found = tuple[str | None, str | None]


class InstanceChecks:
    """The checks of a build's instances; those without one are run when asked for, each for at most `seconds`.

    Half have theirs within a tenth of a second, convolutions in half precision take minutes on a CPU without
    instructions for it. An instance that ran out of less time than `seconds` is run again; with `retry_failed` all that
    ran out of time or memory. To be used in a `with`, within a flow; its end commits what is left.
    """

    def __init__(
        self, corpus: Corpus, num_workers: int, reporter: Reporter, seconds: float, *, retry_failed: bool = False
    ) -> None:
        self._corpus = corpus
        self._num_workers = num_workers
        self._reporter = reporter
        self._job = CheckJob(_new_run_id(), seconds)
        self._known, self._hasty = read_checks(corpus, seconds, retry_failed=retry_failed)
        self._session: CheckSession | None = None
        self._run_reasons: list[str | None] = []
        self._waiting: list[CheckReport] = []
        self._committed_at = time.monotonic()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        try:
            self._commit()
            if self._run_reasons and error is None:
                self._reporter.stage(_summary(self._run_reasons))
        finally:
            if self._session is not None:
                self._session.pool.close()

    def __call__(self, instances: Collection[str]) -> dict[str, Verdict]:
        """Return why instances make no task, those that do left out.

        Raises CorpusError where no child starts, and whatever writing raises.
        """
        if missing := set(instances) - self._known.keys():
            self._run(_by_graph(self._corpus, missing))
        found = {instance: self._known[instance] for instance in instances}
        return {instance: (reason, detail) for instance, (reason, detail) in found.items() if reason is not None}

    def _run(self, missing: Sequence[str]) -> None:
        if hasty := self._hasty.intersection(missing):
            _forget(self._corpus, hasty, self._job.run_id)
            self._hasty -= hasty
        self._reporter.begin(len(missing), "checking", "checked", "instances")
        try:
            commit_in_order(self._submitted(self._started(), missing), self._take, self._num_workers)
        except (StartFailed, ChildFailed) as error:
            raise CorpusError(f"instances cannot be run here ({error})", "check the installation") from error

    def _started(self) -> CheckSession:
        if self._session is None:
            limits = Limits(seconds=self._job.seconds, resident_bytes=_MEMORY_BYTES)
            pool = SandboxPool(self._num_workers, limits=limits, worker=_WORKER)
            self._session = CheckSession(self._corpus, pool, self._job, self._reporter.advance)
        return self._session

    def _submitted(self, session: CheckSession, missing: Sequence[str]) -> Iterator[PrefectFuture[CheckReport]]:
        for number, start in enumerate(range(0, len(missing), _INSTANCES_PER_SHARD)):
            yield check_shard.submit(session, number, tuple(missing[start : start + _INSTANCES_PER_SHARD]))

    def _take(self, _: int, report: CheckReport) -> None:
        """Keep what a shard found, and commit what waits where the last commit is long ago."""
        for row in report.rows.select(["instance_sha256", "reason", "detail"]).to_pylist():
            self._known[row["instance_sha256"]] = row["reason"], row["detail"]
            self._run_reasons.append(row["reason"])
        self._waiting.append(report)
        if time.monotonic() - self._committed_at >= _COMMIT_SECONDS:
            self._commit()

    def _commit(self) -> None:
        if self._waiting and self._session is not None:
            commit_checks(self._session, self._waiting)
        self._waiting = []
        self._committed_at = time.monotonic()


def read_checks(corpus: Corpus, seconds: float, *, retry_failed: bool = False) -> tuple[dict[str, _Found], set[str]]:
    """Return what checks by the present algorithm found, by instance, and the instances to be run again because they
    ran out of less than `seconds`. With `retry_failed` what ran out of time or memory is in neither, or in the second.
    """
    columns = ["instance_sha256", "reason", "detail", "seconds"]
    rows = corpus.read("bench_checks", columns, pc.field("algorithm") == CHECK_ALGORITHM).to_pylist()
    hasty = {row["instance_sha256"] for row in rows if _is_hasty(row, seconds)}
    known = {
        row["instance_sha256"]: (row["reason"], row["detail"])
        for row in rows
        if row["instance_sha256"] not in hasty and not (retry_failed and row["reason"] in OPEN_CHECKS)
    }
    return known, hasty


def _by_graph(corpus: Corpus, instances: Collection[str]) -> list[str]:
    """Return instances in the order of the graphs that they are cut out of, so that few of these serve a shard."""
    rows = first_rows(corpus, instances)
    graphs = {name: row["base_signature_sha256"] or "" for name, row in rows.items()}
    return sorted(instances, key=lambda name: (graphs.get(name, ""), name))


def _is_hasty(row: dict[str, Any], seconds: float) -> bool:
    return row["reason"] == Degenerate.TIMEOUT and (row["seconds"] or 0.0) < seconds


def _forget(corpus: Corpus, instances: Collection[str], run_id: str) -> None:
    """Take the checks of some instances out: a row that ran out of time gives way to no other that does so too."""
    rows = corpus.read("bench_checks")
    is_asked = pc.is_in(rows.column("instance_sha256"), value_set=pa.array(sorted(instances), pa.string()))  # pyright: ignore[reportAttributeAccessIssue]  no stubs
    is_forgotten = pc.and_(is_asked, pc.equal(rows.column("algorithm"), CHECK_ALGORITHM))  # pyright: ignore[reportAttributeAccessIssue]  no stubs
    kept = rows.filter(pc.invert(is_forgotten)).combine_chunks()  # pyright: ignore[reportAttributeAccessIssue]  no stubs
    order = [(key, "ascending") for key in KEYS["bench_checks"]]
    corpus.replace({"bench_checks": kept.sort_by(order)}, run_id, {"forgets": "checks that had less time"})


def _summary(reasons: Sequence[str | None]) -> str:
    """Say how many of the instances that were run make no task, and why."""
    counts = Counter(reason for reason in reasons if reason is not None)
    told = ", ".join(f"{count:,} {reason}" for reason, count in counts.most_common())
    return f"{counts.total():,} of {len(reasons):,} instances that were run make no task{told and f': {told}'}"


def _new_run_id() -> str:
    """Return an id that says when the run began."""
    return f"bench-check-{datetime.now(UTC):%Y%m%dT%H%M%S}-{secrets.token_hex(3)}"
