"""One shard of stored graphs to staged kernel curves: ask a child for counts until each curve is whole, write.

Counts of windows are shared by all shards of a run as they come, and kept in the table `window_counts`. What a graph
does to its child costs that graph, or the one position that is to blame.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from importlib.metadata import version
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from prefect import task
from prefect.cache_policies import NO_CACHE

from extract.failure import Reason
from extract.sandbox import ChildFailed, Sandbox
from profiles.kernels.curve import ALGORITHM, Count, Counts
from storage.corpus import Corpus, Staged
from storage.payloads import graph_payloads
from storage.query import run_query
from storage.records import Failure, failure_table, rows_to_table
from tasks.sandbox_pool import SandboxPool

STEP = "curve"
SCHEDULER = "scheduler"
_BATCH = 16  # programs a request, some seconds
_MAX_ROUNDS = 1000


@dataclass(frozen=True, slots=True)
class CurveJob:
    """What a run makes: curves for a target, exact or not."""

    run_id: str
    target: str
    is_exact: bool = False

    @property
    def manner(self) -> str:
        """How curves are made, as their failures say it first: target, algorithm, torch."""
        exact = ", exact" if self.is_exact else ""
        return f"{self.target} ({ALGORITHM}, torch {self.torch_version}{exact}):"

    @property
    def torch_version(self) -> str:
        """torch as installed here, without its build; children use the same."""
        return version("torch").split("+")[0]


@dataclass(frozen=True, slots=True)
class Candidate:
    """A stored graph without the curve, one of its models, and whether making the curve failed for good before."""

    signature_sha256: str
    model_id: str
    num_ops: int
    has_failed: bool = False


@dataclass(frozen=True, slots=True)
class CurveReport:
    """What became of a shard; its rows are durable but belong to no manifest yet."""

    staged: Staged
    num_made: int
    num_failed: int


class Memo:
    """Counts by window key, shared by the shards of a run; each new one is written by the shard that took it in."""

    def __init__(self, counts: dict[str, Count]) -> None:
        self._counts = counts
        self._lock = threading.Lock()

    def known(self, keys: Iterable[str]) -> dict[str, Count]:
        """Return what is known of these keys."""
        with self._lock:
            return {key: self._counts[key] for key in keys if key in self._counts}

    def add(self, counts: Counts) -> dict[str, Count]:
        """Take counts in, and return those that were new."""
        with self._lock:
            new = {key: count for key, count in counts.items() if key not in self._counts}
            self._counts.update(new)
        return new


@dataclass
class CurveSession:
    """What the shards of one run share: corpus, children, counts, who is told of each graph, and when to stop."""

    corpus: Corpus
    pool: SandboxPool
    memo: Memo
    job: CurveJob
    on_graph: Callable[[str, bool], None]
    deadline: float | None = field(default=None)

    @property
    def is_over(self) -> bool:
        """Whether no further graph should be begun."""
        return self.deadline is not None and time.monotonic() >= self.deadline


def find_candidates(corpus: Corpus, job: CurveJob, model_ids: Sequence[str] | None = None) -> list[Candidate]:
    """Return the graphs (of these models, where given) that lack the curve, the smallest first; failed ones too."""
    parameters = {
        "target": job.target,
        "counter": SCHEDULER,
        "is_exact": job.is_exact,
        "torch_version": job.torch_version,
        "algorithm": ALGORITHM,
        "failed_so": job.manner,
        "open_reasons": [str(reason) for reason in Reason if reason.is_transient],
        "model_ids": None if model_ids is None else list(model_ids),
    }
    return [
        Candidate(row["signature_sha256"], row["model_id"], row["num_ops"], row["has_failed"])
        for row in run_query(corpus, "curve_candidates", parameters)
    ]


def load_memo(corpus: Corpus, job: CurveJob) -> Memo:
    """Return the counts that earlier runs stored for the target and this torch."""
    among = (pc.field("target") == job.target) & (pc.field("torch_version") == job.torch_version)
    rows = corpus.read("window_counts", filters=among).to_pylist()
    fields = ("kernels", "called", "num_aten", "layout_opt", "reason", "detail", "other_op")
    return Memo({row["window_key"]: Count(*(row[name] for name in fields)) for row in rows})


@task(name="curve-shard", task_run_name="curve-shard-{number}", cache_policy=NO_CACHE, persist_result=False)
def curve_shard(session: CurveSession, number: int, candidates: Sequence[Candidate]) -> CurveReport:
    """Make the curves of a shard in one child and stage them; raises Stopped, StartFailed, WriteError."""
    tables: dict[str, list[pa.Table]] = {}
    num_failed = num_made = 0
    with session.pool.lease() as sandbox:
        payloads = graph_payloads(session.corpus, [candidate.signature_sha256 for candidate in candidates])
        for candidate, (_, payload) in zip(candidates, payloads, strict=True):
            if session.is_over:
                break
            made = _GraphCurve(session, sandbox, candidate, payload).make()
            for name, table in made.items():
                tables.setdefault(name, []).append(table)
            num_failed += "failures" in made
            num_made += "kernel_curves" in made
            session.on_graph(candidate.model_id, "failures" in made)
    merged = {name: pa.concat_tables(parts) for name, parts in tables.items()}
    return CurveReport(session.corpus.stage(merged, session.job.run_id), num_made, num_failed)


@task(name="commit-curves", task_run_name="commit-curves-{number}", cache_policy=NO_CACHE, persist_result=False)
def commit_curves(session: CurveSession, number: int, report: CurveReport) -> int:
    """Make staged curves part of the corpus; return the number of the manifest."""
    return session.corpus.commit(report.staged, session.job.run_id, asdict(session.job)).number


class _GraphCurve:
    """The exchange with a child about one graph."""

    def __init__(self, session: CurveSession, sandbox: Sandbox, candidate: Candidate, payload: bytes) -> None:
        self._session = session
        self._sandbox = sandbox
        self._candidate = candidate
        self._payload = payload
        self._counts: dict[str, Count] = {}
        self._new: dict[str, Count] = {}
        self._num_counted = 0
        self._seconds = 0.0

    def make(self) -> dict[str, pa.Table]:
        """Return the rows of the curve and its new counts, or a row of `failures`."""
        try:
            curve = self._exchange()
        except ChildFailed as error:
            return {**self._count_rows(), "failures": self._failure(error.reason, error.detail)}
        return {**self._count_rows(), **self._curve_rows(curve)}

    def _exchange(self) -> dict[str, Any]:
        for _ in range(_MAX_ROUNDS):
            reply = self._ask({"do": "advance", "counts": self._known()})
            if "curve" in reply:
                return reply["curve"]
            needs = list(reply["needs"])
            known = self._session.memo.known(needs)
            self._counts.update(known)
            missing = [key for key in needs if key not in known]
            for start in range(0, len(missing), _BATCH):
                self._count(missing[start : start + _BATCH])
        raise ChildFailed(Reason.CURVE_FAILED, f"no curve after {_MAX_ROUNDS} rounds")

    def _count(self, keys: Sequence[str]) -> None:
        """Count programs together; where a child does not survive that, one by one, and blame the one it dies of.

        A program for which time or memory ran out has no count that holds on another day: then the graph fails.
        """
        try:
            counted = self._counted(keys)
        except ChildFailed as error:
            if error.reason in (Reason.KILLED, Reason.BAD_REPLY):
                raise
            if len(keys) > 1:
                for key in keys:
                    self._count([key])
                return
            if error.reason in (Reason.TIMEOUT, Reason.OUT_OF_MEMORY):
                raise
            counted = {keys[0]: Count(None, reason=str(error.reason), detail=error.detail[:300])}
        self._counts.update(counted)
        self._new.update(self._session.memo.add(counted))
        self._num_counted += len(keys)

    def _counted(self, keys: Sequence[str]) -> dict[str, Count]:
        request = {"do": "count", "keys": list(keys)}
        reply = self._ask(request)
        if reply.get("is_new"):
            reply = self._ask({**request, "counts": self._known()})
        counts = reply["counts"]
        if set(counts) != set(keys):
            raise ChildFailed(Reason.BAD_REPLY, "counts of other programs than asked for")
        return {key: Count(**fields) for key, fields in counts.items()}

    def _ask(self, request: dict[str, Any]) -> dict[str, Any]:
        session = self._session
        header = {**request, "target": session.job.target, "is_exact": session.job.is_exact}
        reply, _ = session.pool.ask(self._sandbox, header, self._payload)
        self._seconds += float(reply.get("seconds", 0.0))
        if "failure" in reply:
            raise ChildFailed(Reason.CURVE_FAILED, str(reply["failure"].get("detail", ""))[:1000])
        return reply

    def _known(self) -> dict[str, Any]:
        return {key: asdict(count) for key, count in self._counts.items()}

    def _count_rows(self) -> dict[str, pa.Table]:
        job = self._session.job
        common = {"target": job.target, "torch_version": job.torch_version}
        rows = [{"window_key": key, **common, **asdict(count)} for key, count in self._new.items()]
        return {"window_counts": rows_to_table("window_counts", rows)}

    def _curve_rows(self, curve: dict[str, Any]) -> dict[str, pa.Table]:
        job = self._session.job
        own: dict[str, object] = {"signature_sha256": self._candidate.signature_sha256, "target": job.target}
        own |= {"counter": SCHEDULER, "is_exact": job.is_exact}
        row = {
            **own,
            "kernels": curve["kernels"],
            "kernels_called": curve["called"] if job.target == "cpu" else None,
            **{name: curve[name] for name in ("num_full", "num_flagged", "num_checked", "num_wrong")},
            "is_calibrated": job.target == "cpu",
            "torch_version": job.torch_version,
            "algorithm": ALGORITHM,
            "num_counted": self._num_counted,
            "seconds": self._seconds,
        }
        boundaries = [{**own, **boundary} for boundary in curve["boundaries"]]
        return {
            "kernel_curves": rows_to_table("kernel_curves", [row]),
            "fusion_boundaries": rows_to_table("fusion_boundaries", boundaries),
        }

    def _failure(self, reason: Reason, detail: str) -> pa.Table:
        candidate, run_id = self._candidate, self._session.job.run_id
        said = f"{self._session.job.manner} {detail}"
        row = Failure(candidate.signature_sha256, STEP, reason, said, run_id, self._seconds, datetime.now(UTC))
        return failure_table([row])
