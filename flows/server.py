"""Bring a Prefect server along for one run, so that nothing has to be started by hand.

Its home is `<corpus>/.prefect/shared` while no other run holds that, a private folder beside it otherwise. Prefect
reads its settings when it is first imported: enter `prefect_server` before that.
"""

from __future__ import annotations

import atexit
import contextlib
import fcntl
import http.client
import logging
import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from storage.errors import CorpusError

START_SECONDS = 180.0
_ROOT = Path(__file__).resolve().parents[1]
_LOGGER = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Home:
    """A Prefect home that this process has locked; `lock_fd` holds the lock."""

    path: Path
    lock_fd: int
    is_private: bool


@contextmanager
def prefect_server(folder: Path) -> Iterator[str]:
    """Yield the URL of a Prefect API: that of PREFECT_API_URL if set, else of a server started here.

    The server ends with this process, after Prefect's own exit handlers; raises CorpusError when it does not start.
    """
    if url := os.environ.get("PREFECT_API_URL"):
        yield url
        return
    home = take_home(folder)
    try:
        server, url = start_server(home)
    except CorpusError:
        # A home that a kill left broken is not worth a run: nothing in it decides what is done.
        home = _new_private_home(folder)
        server, url = start_server(home)
    atexit.register(_stop, server, home)
    os.environ["PREFECT_API_URL"] = url
    yield url


def take_home(folder: Path) -> Home:
    """Lock the shared home of a corpus, or make a private one while another run has it; removes dead private ones."""
    folder.mkdir(parents=True, exist_ok=True)
    for path in folder.glob("private-*"):
        if (dead := _lock(path)) is not None:
            shutil.rmtree(path, ignore_errors=True)
            os.close(dead)
    shared = folder / "shared"
    shared.mkdir(exist_ok=True)
    lock_fd = _lock(shared)
    return _new_private_home(folder) if lock_fd is None else Home(shared, lock_fd, is_private=False)


def start_server(home: Home) -> tuple[subprocess.Popen[bytes], str]:
    """Start a server in that home and wait until it answers; its log is `server.log` there."""
    os.environ.update(_settings(home.path))
    listener = socket.create_server(("127.0.0.1", 0), backlog=128)
    port = listener.getsockname()[1]
    with listener, (home.path / "server.log").open("wb") as log:
        server = subprocess.Popen(
            [sys.executable, "-m", "flows.server_process", str(listener.fileno()), str(os.getpid())],
            env={**os.environ, "PYTHONPATH": os.pathsep.join([str(_ROOT), os.environ.get("PYTHONPATH", "")])},
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            pass_fds=(listener.fileno(),),
            start_new_session=True,
        )
    try:
        _wait(server, port, home.path / "server.log")
    except BaseException:
        server.kill()
        server.wait()
        raise
    return server, f"http://127.0.0.1:{port}/api"


def _settings(home: Path) -> dict[str, str]:
    return {
        "PREFECT_HOME": str(home),
        "PREFECT_PROFILES_PATH": str(home / "profiles.toml"),
        "PREFECT_UI_ENABLED": "false",
        "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
        "DO_NOT_TRACK": "1",
        "PREFECT__SERVER_EPHEMERAL": "1",
        "PREFECT__SERVER_FINAL": "1",
        "PREFECT_LOGGING_LEVEL": "CRITICAL",
        "PREFECT_LOGGING_TO_API_ENABLED": "false",
        "PREFECT_SERVER_DATABASE_TIMEOUT": "60",
    }


def _wait(server: subprocess.Popen[bytes], port: int, log: Path) -> None:
    until = time.monotonic() + START_SECONDS
    while time.monotonic() < until and server.poll() is None:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
        with contextlib.closing(connection), contextlib.suppress(OSError, http.client.HTTPException):
            connection.request("GET", "/api/health")
            if connection.getresponse().status == 200:
                return
        time.sleep(0.05)
    last = log.read_text(errors="replace").strip().splitlines()[-1:] or ["no output"]
    raise CorpusError(
        f"the Prefect server did not start ({last[0]})", f"see {log}, or set PREFECT_API_URL to a running one"
    )


def _stop(server: subprocess.Popen[bytes], home: Home) -> None:
    server.terminate()
    try:
        server.wait(5)
    except subprocess.TimeoutExpired:
        server.kill()
        server.wait()
    if home.is_private:
        shutil.rmtree(home.path, ignore_errors=True)
    os.close(home.lock_fd)


def _new_private_home(folder: Path) -> Home:
    path = folder / f"private-{os.getpid()}"
    path.mkdir(exist_ok=True)
    lock_fd = _lock(path)
    if lock_fd is None:
        raise CorpusError(f"{path} is in use", "wait for the other run")
    return Home(path, lock_fd, is_private=True)


def _lock(path: Path) -> int | None:
    lock_fd = os.open(path / "lock", os.O_RDWR | os.O_CREAT, 0o644)
    try:
        fcntl.flock(lock_fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(lock_fd)
        return None
    return lock_fd
