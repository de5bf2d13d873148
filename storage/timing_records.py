"""Timings, environments and profile runs to rows and back; needs pyarrow alone, so that bare machines can send them."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from typing import Any

import pyarrow as pa

from profiles.timing import EmptyGraph, Environment, ProfileRun, Status, Timing
from storage.records import rows_to_table

Row = dict[str, Any]


def timing_row(timing: Timing) -> Row:
    """Return the row of a timing."""
    return _columns(timing)


def timing_from_row(row: Mapping[str, Any]) -> Timing:
    """Undo `timing_row`; raises ValueError for a status that there is not."""
    return Timing(**_fields(Timing, row, {"status": Status(row["status"]), "blocks": tuple(row["blocks"])}))


def environment_row(environment: Environment) -> Row:
    """Return the row of an environment."""
    return _columns(environment)


def environment_from_row(row: Mapping[str, Any]) -> Environment:
    """Undo `environment_row`; raises ValueError where the row is not named by its own columns."""
    environment = Environment(**_fields(Environment, row, {"pinned_cpus": _tuple(row["pinned_cpus"])}))
    if environment.environment_sha256 != row["environment_sha256"]:
        raise ValueError(f"environment {row['environment_sha256']} is not the hash of its columns")
    return environment


def profile_run_row(run: ProfileRun) -> Row:
    """Return the row of a run; `started_at` must carry a time zone."""
    return _columns(run)


def profile_run_from_row(row: Mapping[str, Any]) -> ProfileRun:
    """Undo `profile_run_row`."""
    empty_us = tuple([EmptyGraph(**measured) for measured in row["empty_us"]])
    reasons = _tuple(row["throttle_reasons"])
    return ProfileRun(**_fields(ProfileRun, row, {"throttle_reasons": reasons, "empty_us": empty_us}))


def timing_tables(
    timings: Iterable[Timing] = (), environments: Iterable[Environment] = (), runs: Iterable[ProfileRun] = ()
) -> dict[str, pa.Table]:
    """Return the rows of `timings`, `environments` and `profile_runs`, in the order given, as a corpus stages them."""
    return {
        "timings": rows_to_table("timings", [timing_row(timing) for timing in timings]),
        "environments": rows_to_table("environments", [environment_row(environment) for environment in environments]),
        "profile_runs": rows_to_table("profile_runs", [profile_run_row(run) for run in runs]),
    }


def _columns(record: Timing | Environment | ProfileRun) -> Row:
    return dataclasses.asdict(record)


def _fields(kind: type[Timing | Environment | ProfileRun], row: Mapping[str, Any], decoded: Row) -> Row:
    """Return what a record is made from; columns that it computes itself, and foreign ones, are left out."""
    return {each.name: row[each.name] for each in dataclasses.fields(kind) if each.init} | decoded


def _tuple(values: Iterable[Any] | None) -> tuple[Any, ...] | None:
    return None if values is None else tuple(values)
