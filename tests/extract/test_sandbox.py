"""The sandbox loses one request to a misbehaving child, says truly why, and answers the next one."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from extract.failure import Reason
from extract.sandbox import ChildFailed, Limits, Sandbox, StartFailed
from extract.sandbox_tree import descendants

ROOT = Path(__file__).parents[2]
PROGRAM = """
import ctypes, os, sys, time
from extract.sandbox_child import serve, take_pipes

def handler(header, payload):
    scope = {"payload": payload}
    exec(header["code"], globals(), scope)
    return {"value": scope.get("value")}, payload[::-1]

serve(take_pipes(), handler)
"""
MIB = 1 << 20
LIMITS = Limits(
    seconds=5.0,
    start_seconds=20.0,
    address_bytes=1024 * MIB,
    resident_bytes=200 * MIB,
    num_processes=4,
    output_bytes=64 << 10,
    file_bytes=MIB,
    recycle_bytes=150 * MIB,
)
NONSENSE = """
import stat
for fd in range(3, 4096):
    try:
        if stat.S_ISFIFO(os.fstat(fd).st_mode):
            os.write(fd, b'nonsense' * 9)
    except OSError:
        pass
"""
BREACHES = {
    "segfault": ("ctypes.string_at(0)", Reason.CRASHED, "SIGSEGV"),
    "abort": ("os.abort()", Reason.CRASHED, "SIGABRT"),
    "exit": ("os._exit(3)", Reason.EXITED, "exit code 3"),
    "exit 0": ("os._exit(0)", Reason.EXITED, "exit code 0"),
    "uncaught": ("raise ValueError('odd')", Reason.EXITED, "ValueError: odd"),
    "hang": ("time.sleep(60)", Reason.TIMEOUT, "no reply within 5 s"),
    "huge allocation": ("value = len(bytearray(30 << 30))", Reason.OUT_OF_MEMORY, "MemoryError"),
    "leak": ("kept = [b'x' * (1 << 20) for _ in range(500)]; time.sleep(9)", Reason.OUT_OF_MEMORY, "resident memory"),
    "flood": ("while True: print('flood' * 100)", Reason.OUTPUT_FLOOD, "stdout"),
    "flood of stderr": ("while True: sys.stderr.write('flood' * 100)", Reason.OUTPUT_FLOOD, "stderr"),
    "fork bomb": ("while True: os.fork() or time.sleep(60)", Reason.TOO_MANY_PROCESSES, "limit 4"),
    "closed pipes": ("os.closerange(3, 4096)", Reason.BAD_REPLY, "closed"),
    "closed pipes and hang": ("os.closerange(3, 4096); time.sleep(60)", Reason.BAD_REPLY, "closed"),
    "killed from outside": ("os.kill(os.getpid(), 9)", Reason.KILLED, "SIGKILL"),
    "nonsense on every pipe": (NONSENSE, Reason.BAD_REPLY, "no frame"),
}


def sandbox_of(limits: Limits = LIMITS) -> Sandbox:
    return Sandbox([sys.executable, "-c", PROGRAM], limits)


@pytest.fixture
def sandbox() -> Iterator[Sandbox]:
    with sandbox_of() as opened:
        yield opened


def evaluate(sandbox: Sandbox, code: str) -> object:
    return sandbox.request({"code": code})[0]["value"]


def test_payload_of_many_megabytes_comes_back_whole(sandbox: Sandbox) -> None:
    payload = os.urandom(5 * MIB)
    assert sandbox.request({"code": "value = len(payload)"}, payload) == ({"value": 5 * MIB}, payload[::-1])


def test_one_child_serves_many_requests(sandbox: Sandbox) -> None:
    assert len({evaluate(sandbox, "value = os.getpid()") for _ in range(20)}) == 1


@pytest.mark.parametrize("name", BREACHES)
def test_breach_costs_one_request_with_its_reason(sandbox: Sandbox, name: str) -> None:
    code, reason, detail = BREACHES[name]
    with pytest.raises(ChildFailed) as caught:
        sandbox.request({"code": code})
    assert caught.value.reason == reason
    assert detail in caught.value.detail
    assert evaluate(sandbox, "value = 6 * 7") == 42


def test_output_below_the_limit_is_no_breach_however_many_requests(sandbox: Sandbox) -> None:
    for _ in range(4):
        evaluate(sandbox, "print('x' * (40 << 10), flush=True)")
    assert sandbox.num_started == 1


def test_child_holding_too_much_is_replaced_without_a_failure(sandbox: Sandbox) -> None:
    evaluate(sandbox, "globals()['kept'] = b'x' * (170 << 20)")
    assert evaluate(sandbox, "value = 'kept' in globals()") is False
    assert sandbox.num_started == 2


def test_child_that_left_a_process_behind_is_replaced_and_so_is_the_process(sandbox: Sandbox) -> None:
    left = evaluate(sandbox, "value = os.fork() or time.sleep(60)")
    assert evaluate(sandbox, "value = 1") == 1
    assert sandbox.num_started == 2
    assert not Path(f"/proc/{left}").exists()


def test_process_that_forked_twice_does_not_outlive_its_sandbox() -> None:
    code = "pid = os.fork()\nif pid == 0:\n  os.setsid()\n  os.fork() or time.sleep(60)\n  time.sleep(60)\nvalue = pid"
    with sandbox_of() as sandbox:
        evaluate(sandbox, code)
    assert descendants(os.getpid()) == []


def test_children_are_recycled_after_their_number_of_requests() -> None:
    with sandbox_of(Limits(num_requests=2, start_seconds=20.0)) as sandbox:
        assert len({evaluate(sandbox, "value = os.getpid()") for _ in range(4)}) == 2


def test_private_folder_is_the_working_directory_and_goes_with_the_child() -> None:
    with sandbox_of() as sandbox:
        folder = Path(str(evaluate(sandbox, "open('left.txt', 'w').write('x'); value = os.getcwd()")))
        assert (folder / "left.txt").exists()
    assert not folder.exists()


def test_file_above_the_limit_cannot_be_written(sandbox: Sandbox) -> None:
    with pytest.raises(ChildFailed) as caught:
        evaluate(sandbox, "open('large', 'wb').write(b'x' * (2 << 20))")
    assert "File too large" in caught.value.detail


def test_secrets_of_the_environment_do_not_reach_the_child(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_TOKEN", "secret")
    with sandbox_of() as sandbox:
        assert evaluate(sandbox, "value = os.environ.get('HF_TOKEN')") is None


def test_command_that_cannot_start_blames_no_subject() -> None:
    with Sandbox([sys.executable, "-c", "import missing_module"], LIMITS) as sandbox, pytest.raises(StartFailed) as it:
        sandbox.start()
    assert "missing_module" in str(it.value)


def test_a_child_killed_before_it_served_is_started_once_more(tmp_path: Path) -> None:
    script = "import os, signal, sys; from pathlib import Path; mark = Path(sys.argv[1])\n"
    script += "if len(mark.read_text()) < int(sys.argv[2]): mark.write_text(mark.read_text() + 'x'); "
    script += "os.kill(os.getpid(), signal.SIGKILL)\n"
    script += "from extract.sandbox_child import serve, take_pipes; serve(take_pipes(), lambda h, p: ({'is': 'ok'}, p))"
    mark = tmp_path / "mark"
    for num_kills, is_served in ((1, True), (2, False)):
        mark.write_text("")
        with Sandbox([sys.executable, "-c", script, str(mark), str(num_kills)], Limits(seconds=20)) as sandbox:
            if is_served:
                assert sandbox.request({})[0] == {"is": "ok"}
            else:
                with pytest.raises(StartFailed, match="killed: SIGKILL"):
                    sandbox.request({})


def test_killed_guard_is_survived_and_leaves_nothing(sandbox: Sandbox) -> None:
    with pytest.raises(ChildFailed) as caught:
        sandbox.request({"code": "os.fork() and os.kill(os.getppid(), 9)\ntime.sleep(60)"})
    assert caught.value.reason == Reason.BAD_REPLY
    assert evaluate(sandbox, "value = 1") == 1
    sandbox.close()
    assert descendants(os.getpid()) == []


def test_interrupt_from_another_thread_ends_the_request(sandbox: Sandbox) -> None:
    sandbox.start()
    timer = threading.Timer(0.3, sandbox.interrupt)
    timer.start()
    with pytest.raises(ChildFailed) as caught:
        sandbox.request({"code": "time.sleep(60)"}, seconds=30)
    timer.join()
    assert caught.value.reason == Reason.KILLED
    assert evaluate(sandbox, "value = 1") == 1


def test_kill_of_the_parent_leaves_no_process_and_no_folder(tmp_path: Path) -> None:
    code = (
        "pid = os.fork()\nif pid == 0: time.sleep(60)\n"
        "print(os.getpid(), os.getppid(), pid, os.getcwd(), file=open(payload, 'w'))\ntime.sleep(60)"
    )
    marker = tmp_path / "pids"
    script = f"""
import sys
from extract.sandbox import Sandbox
sandbox = Sandbox([sys.executable, "-c", {PROGRAM!r}])
sandbox.request({{"code": {code!r}}}, {str(marker).encode()!r})
"""
    parent = subprocess.Popen([sys.executable, "-c", script], cwd=ROOT)
    until = time.monotonic() + 30
    while not (marker.exists() and len(marker.read_text().split()) == 4) and time.monotonic() < until:
        time.sleep(0.05)
    *pids, folder = marker.read_text().split()
    parent.send_signal(signal.SIGKILL)
    parent.wait()
    gone = [Path(f"/proc/{pid}") for pid in pids] + [Path(folder)]
    while any(path.exists() for path in gone) and time.monotonic() < until:
        time.sleep(0.05)
    assert [path for path in gone if path.exists()] == []
