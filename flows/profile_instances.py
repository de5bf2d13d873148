"""Stored instances in, timings out: choose what lacks them on this device, time one after the other, commit, report.

One device is one child, which times alone (a second would be timed along). A run can be killed at any moment and
started again: the manifest alone decides what was timed in this environment.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, cast

from prefect import flow
from prefect.futures import PrefectFuture
from prefect.task_runners import TaskRunner, ThreadPoolTaskRunner

from extract.sandbox import ChildFailed, StartFailed
from extract.shape_configs import DTYPES
from flows.in_order import commit_in_order
from flows.profile_plan import DEFAULT_BACKENDS, MAX_BYTES, REQUEST_SECONDS, check_names, check_profile, make_choice
from flows.progress import REPORTER, Reporter
from mining.subgraph import KINDS
from profiles.device_lock import DeviceError
from profiles.supervised import DeviceSession, ProfileJob, new_run_id
from profiles.timing import Cache
from storage.corpus import Corpus
from storage.errors import CorpusError, UsageError
from storage.profile_candidates import ProfileChoice, find_candidates
from storage.query import run_query
from tasks.profiling import (
    ProfileReport,
    ProfileSession,
    commit_timings,
    profile_shard,
)

_INSTANCES_PER_SHARD = 4  # what a kill loses at most: a minute or two on a CPU


@dataclass(frozen=True, slots=True)
class ProfileSummary:
    """Figures of one run: instances timed now and how many are left (for a bound), backends that were left out and why,
    and what stands in this environment, as rows of view `profile_success`. `seconds` is wall time."""

    corpus: str
    run_id: str
    device_id: str
    num_instances: int
    num_left: int
    missing: tuple[tuple[str, str], ...]
    backends: tuple[dict[str, Any], ...]
    seconds: float


@flow(name="profile", task_runner=cast("TaskRunner[Any]", ThreadPoolTaskRunner()), persist_result=False)
def profile(
    corpus: str = "data/corpus",
    device: str = "auto",
    backends: str = DEFAULT_BACKENDS,
    limit: int | None = None,
    kinds: str = ",".join(KINDS),
    dtypes: str = ",".join(DTYPES),
    models_file: str | None = None,
    instances_file: str | None = None,
    max_bytes: int | None = MAX_BYTES,
    cache: str = "cold",
    threads: int = 1,
    seed: int = 0,
    again: bool = False,
    seconds: float = REQUEST_SECONDS,
) -> ProfileSummary:
    """Time the stored instances that lack a timing on a device under these backends, and return what stands then.

    `limit` instances are drawn by `seed`, the same at each call; `again` times those too that were timed before. Raises
    UsageError before any write.
    """
    started = time.monotonic()
    check_profile(cache, threads, seconds)
    choice = make_choice(kinds, dtypes, max_bytes, limit, seed, models_file, instances_file, again)
    names = check_names("--backends", backends)
    job = ProfileJob(new_run_id(), device, names, cast("Cache", cache), threads, seed, request_seconds=seconds)
    reporter = REPORTER.get()
    with Corpus.open(corpus, write=True) as opened, _device(job, reporter) as session:
        num_timed, num_left = _profile(opened, session, choice, reporter)
        reporter.stage("writing the catalogue")
        if opened.is_fragmented():
            opened.compact()
        opened.write_catalogue()
        environment = session.environment
        own: dict[str, object] = {"environment_sha256": environment.environment_sha256, "cache": cache}
        return ProfileSummary(
            str(opened.root),
            job.run_id,
            environment.device_id,
            num_timed,
            num_left,
            tuple(session.missing.items()),
            tuple(run_query(opened, "timing_summary", own)),
            time.monotonic() - started,
        )


@contextlib.contextmanager
def _device(job: ProfileJob, reporter: Reporter) -> Iterator[DeviceSession]:
    """Hold the device while instances are timed; whatever ends the run ends the child's request at once."""
    reporter.stage("measuring the overhead of an empty graph")
    try:
        with DeviceSession(job) as session:
            try:
                yield session
            except BaseException:
                session.interrupt()
                raise
    except DeviceError as error:
        raise UsageError(str(error), "see `passnet profile --help` for devices and backends") from error
    except (StartFailed, ChildFailed) as error:
        raise CorpusError(f"nothing can be timed here ({error})", "check the installation") from error


def _profile(corpus: Corpus, device: DeviceSession, choice: ProfileChoice, reporter: Reporter) -> tuple[int, int]:
    """Time what lacks timings; return how many instances were timed and how many of those chosen are left."""
    environment, cache = device.environment.environment_sha256, device.job.cache
    chosen = find_candidates(corpus, choice, environment, device.backends, cache)
    reporter.begin(len(chosen), f"timing on {device.environment.device_name}", "timed", "instances")
    session = ProfileSession(corpus, device, _advance(reporter))
    num_timed = 0

    def submitted() -> Iterator[PrefectFuture[ProfileReport]]:
        for number, start in enumerate(range(0, len(chosen), _INSTANCES_PER_SHARD)):
            yield profile_shard.submit(session, number, chosen[start : start + _INSTANCES_PER_SHARD])

    def commit(number: int, report: ProfileReport) -> None:
        nonlocal num_timed
        commit_timings(session, number, report)
        num_timed += len({timing.instance_sha256 for timing in report.timings})

    commit_in_order(submitted(), commit, 0)
    if choice.limit is None:
        return num_timed, 0
    unbounded = replace(choice, limit=None, again=False)
    return num_timed, len(find_candidates(corpus, unbounded, environment, device.backends, cache))


def _advance(reporter: Reporter) -> Callable[[str, bool], None]:
    return lambda instance, has_failed: reporter.advance(instance, has_failed)
