"""A shard of instances in a Parquet file to their timings in another, on a machine that has no corpus.

The shard has a row for each instance: `instance_sha256` and `program`, the payload of `storage.records`. The outcome
has the columns of table `timings`, and in its metadata the rows of `environments` and `profile_runs` that they belong
to: one file is all that goes back. It is rewritten, and renamed into place, after every instance, so that a run can be
killed at any moment and started again. Needs torch and pyarrow alone.
"""

from __future__ import annotations

import base64
import os
from collections.abc import Callable, Iterable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from extract.sandbox import ChildFailed, StartFailed
from profiles.device_lock import DeviceError
from profiles.supervised import DeviceSession, ProfileJob
from profiles.timing import Timing
from storage.records import first_rows, tables_from_bytes, tables_to_bytes
from storage.schemas import SCHEMAS
from storage.timing_records import timing_tables

SHARD_SCHEMA = pa.schema([pa.field("instance_sha256", pa.string(), False), pa.field("program", pa.binary(), False)])
_BESIDE = ("environments", "profile_runs")
_METADATA = b"passnet.beside"

Tables = dict[str, pa.Table]


class ShardError(Exception):
    """A shard or an outcome that cannot be read or written, or a device that cannot be had; one line."""


def write_shard(path: Path, programs: Iterable[tuple[str, bytes]]) -> int:
    """Write instances with their programs, and return how many; raises `ShardError`."""
    rows = [{"instance_sha256": name, "program": program} for name, program in programs]
    _replace(path, pa.Table.from_pylist(rows, SHARD_SCHEMA))
    return len(rows)


def time_shard(shard: Path, out: Path, job: ProfileJob, tell: Callable[[str], None]) -> None:
    """Time the instances that `out` lacks on the device and under a backend of the job, and write them there, in the
    shard's order; raises `ShardError`. `tell` gets a line for each instance."""
    programs = _read_shard(shard)
    tables = read_outcome(out) if out.exists() else timing_tables()
    try:
        with DeviceSession(job) as session:
            done = _timed_before(tables["timings"], session)
            left = [(name, program) for name, program in programs if not done >= {(name, b) for b in session.backends}]
            for backend, reason in session.missing.items():
                tell(f"{backend} is left out: {reason}")
            tell(f"{len(left)} of {len(programs)} instances to time on {session.environment.device_id}")
            tables = _joined(tables, timing_tables([], [session.environment], [session.run]))
            write_outcome(out, tables)  # raises before anything is timed for nothing
            for number, (name, program) in enumerate(left, 1):
                timings = session.time(name, program)
                new = [timing for timing in timings if (name, timing.backend) not in done]
                tables = _joined(tables, timing_tables(new))
                write_outcome(out, tables)
                tell(f"{number}/{len(left)} {name[:12]} {' '.join(_said(timing) for timing in timings)}")
    except (DeviceError, StartFailed, ChildFailed) as error:
        raise ShardError(f"{job.device} cannot be timed on: {error}") from error


def read_outcome(path: Path) -> Tables:
    """Return the rows of `timings`, `environments` and `profile_runs` in an outcome; raises `ShardError`."""
    try:
        timings = pq.read_table(path)
        beside = tables_from_bytes(base64.b64decode((timings.schema.metadata or {})[_METADATA]))
        tables = {"timings": timings.replace_schema_metadata(None), **{name: beside[name] for name in _BESIDE}}
        return {name: table.cast(SCHEMAS[name]) for name, table in tables.items()}
    except (OSError, KeyError, ValueError, pa.ArrowException) as error:
        raise ShardError(f"{path} holds no timings ({' '.join(str(error).split())[:200]})") from error


def write_outcome(path: Path, tables: Tables) -> None:
    """Write an outcome in one step; raises `ShardError`."""
    beside = base64.b64encode(tables_to_bytes({name: tables[name] for name in _BESIDE}))
    _replace(path, tables["timings"].replace_schema_metadata({_METADATA: beside}))


def _read_shard(path: Path) -> list[tuple[str, bytes]]:
    try:
        table = pq.read_table(path, columns=SHARD_SCHEMA.names).cast(SHARD_SCHEMA)
    except (OSError, KeyError, ValueError, pa.ArrowException) as error:
        raise ShardError(f"{path} is no shard of instances ({' '.join(str(error).split())[:200]})") from error
    return list(zip(*(table.column(name).to_pylist() for name in SHARD_SCHEMA.names), strict=True))


def _timed_before(timings: pa.Table, session: DeviceSession) -> set[tuple[str, str]]:
    """Return the instances and backends that were timed in the environment and with the cache of the session."""
    environment, cache = session.environment.environment_sha256, session.job.cache
    names = ("instance_sha256", "backend", "environment_sha256", "cache")
    rows = zip(*(timings.column(name).to_pylist() for name in names), strict=True)
    return {(instance, backend) for instance, backend, where, how in rows if (where, how) == (environment, cache)}


def _joined(tables: Tables, more: Tables) -> Tables:
    return {name: first_rows(name, pa.concat_tables([table, more[name]])) for name, table in tables.items()}


def _replace(path: Path, table: pa.Table) -> None:
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        pq.write_table(table, temporary)
        temporary.replace(path)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise ShardError(f"{path} cannot be written ({error.strerror or error})") from error


def _said(timing: Timing) -> str:
    shown = timing.status if timing.latency_us is None else f"{timing.latency_us:.1f}us"
    return f"{timing.backend}={shown}"
