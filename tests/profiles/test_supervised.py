"""Children that time, and backends that end them: each program has a row for each backend, and the next one works."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from extract.failure import Reason
from extract.graph import Graph
from extract.sandbox import GIB, ChildFailed
from profiles.device_lock import DeviceError, device_lock
from profiles.supervised import DeviceSession, ProfileJob
from profiles.timing import Status, Timing
from storage.records import program_to_bytes
from tests.profiles.entry_points import install_foreign
from tests.profiles.test_instance_profile import RELU, graph

NEG = graph(("torch.neg", RELU.nodes[0].args[0]))
LIMITS = {"warmup": 1, "trials": 5, "max_attempts": 1, "request_seconds": 40.0, "memory_bytes": 3 * GIB // 2}
QUICK = ("failing", "spoiling", "segfaulting", "overwriting", "clockless")
DEADLY = ("hanging", "swelling", "leaving", "closing", "killing", "hopeless")


@pytest.fixture(scope="module")
def foreign(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder with backends as entry points, which children find, and a folder for locks and kernels."""
    folder = tmp_path_factory.mktemp("foreign")
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("PYTHONPATH", str(install_foreign(folder)))
        patched.setattr("tempfile.tempdir", str(folder))  # locks of our own
        yield folder


def job(*backends: str, **changes: float) -> ProfileJob:
    return ProfileJob("run", "cpu", backends, **{**LIMITS, **changes})  # pyright: ignore[reportArgumentType]


def timed(session: DeviceSession, program: Graph, name: str = "a" * 64) -> dict[str, Timing]:
    timings = session.time(name, program_to_bytes(program))
    assert [timing.backend for timing in timings] == list(session.backends)
    for timing in timings:
        assert timing.instance_sha256 == name
        assert (timing.latency_us is not None) == timing.status.has_times
        assert timing.seconds >= 0
        assert "\n" not in (timing.detail or "")
        assert len(timing.detail or "") <= 500
    return {timing.backend: timing for timing in timings}


def assert_ok(timing: Timing) -> None:
    assert (timing.status, timing.detail) == (Status.OK, None)
    assert timing.latency_us is not None and 0 < timing.latency_us < 1e6
    assert (timing.warmup, timing.repeats, timing.attempts, timing.stable) == (1, 5, 1, timing.stable)


def test_what_fails_has_its_status_and_eager_its_times(foreign: Path) -> None:
    with DeviceSession(job(*QUICK)) as session:
        assert not session.missing
        assert [empty.backend for empty in session.run.empty_us] == ["eager", *QUICK]
        assert all(empty.latency_us for empty in session.run.empty_us)
        assert json.loads(session.run.config)["backends"] == list(QUICK)
        found = timed(session, RELU)
        assert_ok(found["eager"])
        statuses = {name: found[name].status for name in QUICK}
        assert statuses == {
            "failing": Status.COMPILE_FAILED,
            "spoiling": Status.NOT_FINITE,
            "segfaulting": Status.CRASHED,
            "overwriting": Status.OK,
            "clockless": Status.OK,
        }
        assert found["failing"].detail == "ValueError: not this program"
        assert (found["segfaulting"].detail or "").startswith("SIGSEGV")
        assert found["spoiling"].max_abs_diff == float("inf")
        assert [found[name].mutates_inputs for name in ("eager", "overwriting")] == [False, True]
        assert found["overwriting"].bitwise_equal
        assert_ok(found["clockless"])
        assert found["clockless"].compile_s is not None and 0 < found["clockless"].compile_s < 60
        for timing in timed(session, NEG, "b" * 64).values():
            assert_ok(timing)
            assert timing.overhead_dominated is not None


@pytest.mark.slow
def test_what_ends_or_holds_the_child_costs_its_own_row(foreign: Path) -> None:
    with DeviceSession(job(*DEADLY)) as session:
        empty = {empty.backend: empty.latency_us for empty in session.run.empty_us}
        assert empty.pop("hopeless") is None
        assert all(empty.values()) and list(empty) == ["eager", *DEADLY[:-1]]
        found = timed(session, RELU)
        assert_ok(found["eager"])
        assert {name: found[name].status for name in DEADLY} == {
            "hanging": Status.TIMEOUT,
            "swelling": Status.OUT_OF_MEMORY,
            "leaving": Status.CRASHED,
            "closing": Status.CRASHED,
            "killing": Status.CRASHED,
            "hopeless": Status.CRASHED,
        }
        assert "exit code 3" in (found["leaving"].detail or "")
        assert "pipes" in (found["closing"].detail or "")
        assert (found["killing"].detail or "").startswith("SIGKILL")
        assert found["hanging"].seconds >= 40
        following = timed(session, NEG, "b" * 64)
        assert following.pop("hopeless").status is Status.CRASHED
        for timing in following.values():
            assert_ok(timing)


@pytest.mark.slow
def test_a_hang_beside_eager_alone_costs_its_limit_once(foreign: Path) -> None:
    with DeviceSession(job("hanging", request_seconds=20.0)) as session:
        started = time.monotonic()
        found = timed(session, RELU)
        assert_ok(found["eager"])
        assert found["hanging"].status is Status.TIMEOUT
        assert 20 <= found["hanging"].seconds <= time.monotonic() - started


def test_an_interrupt_ends_the_request_and_nothing_more_is_timed(foreign: Path) -> None:
    with DeviceSession(job("hanging")) as session:
        threading.Timer(1.0, session.interrupt).start()
        for _ in range(2):
            with pytest.raises(ChildFailed) as caught:
                session.time("a" * 64, program_to_bytes(RELU))
            assert caught.value.reason is Reason.KILLED


def test_a_device_is_timed_on_by_one_session_at_a_time(foreign: Path) -> None:
    with DeviceSession(job("eager")) as session:
        assert session.backends == ("eager",)
        device_id = session.environment.device_id
        with pytest.raises(DeviceError, match="another process is timing"), device_lock(device_id):
            pass
    with device_lock(device_id), pytest.raises(DeviceError, match="another process"), DeviceSession(job()):
        pass


@pytest.mark.parametrize(
    ("device", "backends", "said"),
    [("cuda:7", (), "no 'cuda:7'"), ("gpu", (), "unknown device 'gpu'"), ("cpu", ("foo",), "unknown backend 'foo'")],
)
def test_a_device_or_backend_that_is_not_to_be_had(
    foreign: Path, device: str, backends: tuple[str, ...], said: str
) -> None:
    with pytest.raises(DeviceError, match=said), DeviceSession(ProfileJob("run", device, backends)):
        pass


def test_operands_that_cannot_be_drawn_are_raised_under_every_backend(foreign: Path) -> None:
    with DeviceSession(job("failing")) as session:
        found = timed(session, graph(("torch.matmul", *[RELU.nodes[0].args[0]] * 2)))
        assert {timing.status for timing in found.values()} == {Status.RAISED}
        assert all("RuntimeError" in (timing.detail or "") for timing in found.values())
