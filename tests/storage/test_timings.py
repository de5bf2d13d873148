"""Timings, environments and profile runs: records and rows are one thing, and a corpus keeps the first row of a key."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from profiles.timing import EmptyGraph, Environment, ProfileRun, Status, Timing
from storage.corpus import Corpus
from storage.schemas import KEYS, SCHEMAS, is_volatile
from storage.timing_records import (
    environment_from_row,
    environment_row,
    profile_run_from_row,
    timing_from_row,
    timing_row,
    timing_tables,
)

_FLOATS, _TEXT = st.floats(allow_nan=False), st.text(max_size=4)
_OF_TYPE: dict[str, st.SearchStrategy[Any]] = {
    "str": _TEXT,
    "int": st.integers(0, 2**31 - 1),
    "float": _FLOATS,
    "bool": st.booleans(),
    "datetime": st.datetimes(datetime(2000, 1, 1), datetime(2100, 1, 1), timezones=st.just(UTC)),
    "Cache": st.sampled_from(["cold", "warm"]),
    "DeviceKind": st.sampled_from(["cpu", "cuda"]),
    "Status": st.sampled_from(Status),
    "tuple[int, ...]": st.lists(st.integers(0, 99), max_size=4).map(tuple),
    "tuple[str, ...]": st.lists(_TEXT, max_size=3).map(tuple),
    "tuple[EmptyGraph, ...]": st.lists(st.builds(EmptyGraph, _TEXT, _FLOATS, st.none() | _FLOATS), max_size=2).map(
        tuple
    ),
}


def records(kind: Any) -> st.SearchStrategy[Any]:
    """Return a strategy of records of any values that their fields may have; NaN, which equals nothing, is left out."""
    fields = {field.name: str(field.type) for field in dataclasses.fields(kind) if field.init}
    values = {name: _OF_TYPE[text.removesuffix(" | None")] for name, text in fields.items()}
    return st.builds(
        kind,
        **{name: st.none() | values[name] if text.endswith("None") else values[name] for name, text in fields.items()},
    )


ENVIRONMENT = Environment(
    device_id="cuda:NVIDIA A30:GPU-1",
    device_kind="cuda",
    device_name="NVIDIA A30",
    driver="570.86",
    cuda_version="12.8",
    compute_capability="8.0",
    num_sm=56,
    memory_bytes=24 << 30,
    cache_bytes=24 << 20,
    torch_version="2.14.1",
    triton_version="3.8.0",
    python_version="3.12.3",
    os="Linux 6.8",
    num_threads=8,
    pinned_cpus=None,
    host_memory="glibc 2.36, freed memory kept",
)


@pytest.mark.parametrize(
    ("kind", "table"), [(Timing, "timings"), (Environment, "environments"), (ProfileRun, "profile_runs")]
)
def test_a_schema_is_its_record_field_by_field(kind: Any, table: str) -> None:
    schema = SCHEMAS[table]
    assert [field.name for field in dataclasses.fields(kind)] == schema.names
    nullable = {field.name for field in schema if field.nullable}
    assert {field.name for field in dataclasses.fields(kind) if "None" in str(field.type)} == nullable
    assert {field.name for field in schema if is_volatile(field)} == ({"seconds"} if table == "timings" else set())
    assert set(KEYS[table]) <= set(schema.names) - nullable


@given(records(Timing), records(Environment), records(ProfileRun))
def test_records_survive_rows(timing: Timing, environment: Environment, run: ProfileRun) -> None:
    tables = timing_tables([timing], [environment], [run])
    assert timing_from_row(tables["timings"].to_pylist()[0]) == timing
    assert environment_from_row(tables["environments"].to_pylist()[0]) == environment
    assert profile_run_from_row(tables["profile_runs"].to_pylist()[0]) == run


def test_an_environment_is_named_by_all_of_its_facts() -> None:
    facts = {name: value for name, value in environment_row(ENVIRONMENT).items() if name != "environment_sha256"}
    text = json.dumps(dict(sorted(facts.items())), separators=(",", ":"))
    assert ENVIRONMENT.environment_sha256 == hashlib.sha256(text.encode()).hexdigest()
    others = [dataclasses.replace(ENVIRONMENT, **change) for change in ({"num_threads": 4}, {"pinned_cpus": (0,)})]
    assert len({each.environment_sha256 for each in (ENVIRONMENT, *others)}) == 3
    with pytest.raises(ValueError, match="not the hash of its columns"):
        environment_from_row(environment_row(ENVIRONMENT) | {"num_sm": 57})


def test_statuses_with_times_are_those_whose_trials_ended() -> None:
    assert [status.value for status in Status if status.has_times] == [
        "ok", "not_finite", "outputs_differ", "recompiles",
    ]  # fmt: skip
    row = timing_row(Timing(**dict.fromkeys(KEYS["timings"], "x"), status=Status.OK, seconds=0.1))
    with pytest.raises(ValueError, match="noisy"):
        timing_from_row(row | {"status": "noisy"})


def test_the_first_row_of_a_key_is_kept(tmp_path: Path) -> None:
    key = dict.fromkeys(KEYS["timings"], "x")
    with Corpus.create(tmp_path / "corpus") as corpus:
        for latency_us in (1.0, 2.0):
            timing = Timing(**key, status=Status.OK, latency_us=latency_us, seconds=0.1)
            corpus.commit(corpus.stage(timing_tables([timing], [ENVIRONMENT]), "run"), "run")
        assert corpus.read("timings").column("latency_us").to_pylist() == [1.0]
        assert corpus.read("environments").num_rows == 1
