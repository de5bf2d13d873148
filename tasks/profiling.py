"""One shard of instances to their staged timings: render each, have the device's child time it, write."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass

from prefect import task
from prefect.cache_policies import NO_CACHE

from profiles.supervised import DeviceSession
from profiles.timing import EAGER, Timing
from storage.corpus import Corpus, Staged
from storage.profile_candidates import stored_programs
from storage.timing_records import timing_tables


@dataclass(frozen=True, slots=True)
class ProfileReport:
    """What became of a shard; its rows are durable but belong to no manifest yet."""

    staged: Staged
    timings: tuple[Timing, ...]


@dataclass
class ProfileSession:
    """What the shards of one run share: corpus, device, and who is told of each instance."""

    corpus: Corpus
    device: DeviceSession
    on_instance: Callable[[str, bool], None]


@task(name="profile-shard", task_run_name="profile-shard-{number}", cache_policy=NO_CACHE, persist_result=False)
def profile_shard(session: ProfileSession, number: int, instances: Sequence[str]) -> ProfileReport:
    """Time the instances of a shard and stage the rows; raises ChildFailed (`killed`), StartFailed, WriteError."""
    device = session.device
    timings: list[Timing] = []
    for instance, program in stored_programs(session.corpus, instances):
        timed = device.time(instance, program)
        timings += timed
        eager = next(timing for timing in timed if timing.backend == EAGER)
        session.on_instance(instance[:12], not eager.status.has_times)
    tables = timing_tables(timings, [device.environment], [device.run])
    return ProfileReport(session.corpus.stage(tables, device.job.run_id), tuple(timings))


@task(name="commit-timings", task_run_name="commit-timings-{number}", cache_policy=NO_CACHE, persist_result=False)
def commit_timings(session: ProfileSession, number: int, report: ProfileReport) -> int:
    """Make staged timings part of the corpus; return the number of the manifest."""
    job = session.device.job
    return session.corpus.commit(report.staged, job.run_id, asdict(job)).number
