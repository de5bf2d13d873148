"""Warm sandboxes with a trace worker in each, leased to one task at a time."""

from __future__ import annotations

import os
import queue
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace

from extract.failure import Reason
from extract.sandbox import ChildFailed, Limits, Sandbox, StartFailed
from extract.sandbox_frames import Header
from extract.sandbox_isolation import NOT_ISOLATED
from storage.errors import UsageError

_ENVIRONMENT = {
    "PYTORCH_JIT": "0",
    "OMP_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "HF_HUB_OFFLINE": "1",
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "TORCHINDUCTOR_CACHE_DIR": "inductor",
    "PYTHONFAULTHANDLER": "1",
    "PYTHONHASHSEED": "0",  # models that walk through a set (transformers' layer types) are traced alike each time
}


class Stopped(Exception):
    """The run is ending early; what was asked of the pool is not done."""


def check_start(modules: Sequence[str], trusts_code: bool = False) -> None:
    """Start one child, where modules of the user or isolation may keep it from starting; raises UsageError if so."""
    if not modules and not trusts_code:
        return
    pool = SandboxPool(1, modules, trusts_code=trusts_code)
    try:
        with pool.lease() as sandbox:
            sandbox.start()
    except StartFailed as error:
        if NOT_ISOLATED in str(error):
            remedy = "allow unprivileged user namespaces (Linux 5.12 or later), or leave it out"
            raise UsageError(f"--trust-remote-code runs code in isolation alone ({error})", remedy) from error
        raise UsageError(
            f"--import {' --import '.join(modules)} fails ({error})", "name modules that `python -c 'import ...'` finds"
        ) from error
    finally:
        pool.close()


class SandboxPool:
    """At most `num_workers` sandboxes, started when first leased; `modules` are imported in each child first.

    They are looked for where this process finds modules, and in its working directory. `worker` is the module that
    each child runs. With `trusts_code` children execute what code comes with configs, and are isolated.
    """

    def __init__(
        self,
        num_workers: int,
        modules: Sequence[str] = (),
        limits: Limits | None = None,
        worker: str = "tasks.trace_worker",
        trusts_code: bool = False,
    ) -> None:
        self.num_workers = num_workers
        command = [sys.executable, "-m", worker, *(f"--import={name}" for name in modules)]
        command += [f"--import-from={os.getcwd()}"] if modules else []
        if trusts_code:
            command.append("--trust-remote-code")
            limits = replace(limits or Limits(), isolated=True)
        self._sandboxes = [Sandbox(command, limits, _ENVIRONMENT) for _ in range(num_workers)]
        self._idle: queue.LifoQueue[Sandbox] = queue.LifoQueue()
        for sandbox in reversed(self._sandboxes):
            self._idle.put(sandbox)
        self._stopped = threading.Event()

    @contextmanager
    def lease(self) -> Iterator[Sandbox]:
        """Yield a sandbox that is this thread's alone; waits for one, raises Stopped when the run is ending."""
        sandbox = self._take()
        try:
            yield sandbox
        finally:
            self._idle.put(sandbox)

    def check(self) -> None:
        """Raise Stopped when the run is ending."""
        if self._stopped.is_set():
            raise Stopped

    def ask(self, sandbox: Sandbox, header: Header, payload: bytes = b"") -> tuple[Header, bytes]:
        """Ask a leased sandbox; raises ChildFailed, Stopped, StartFailed.

        A child that served others before and does not survive this request is replaced and asked once more, alone:
        what an earlier model left behind in it must not count against this one. A timeout is not tried again.
        """
        self.check()
        is_used = sandbox.num_served > 0
        try:
            return sandbox.request(header, payload)
        except ChildFailed as failure:
            self.check()
            if not is_used or failure.reason == Reason.TIMEOUT:
                raise
        try:
            return sandbox.request(header, payload)
        except ChildFailed:
            self.check()
            raise

    def stop(self) -> None:
        """Let no further request begin and end those in progress; returns at once, from any thread."""
        self._stopped.set()
        for sandbox in self._sandboxes:
            sandbox.interrupt()

    def close(self) -> None:
        """Stop, wait for the leases to come back, and end every child."""
        num_open = len(self._sandboxes)
        while num_open:
            self.stop()
            with suppress(queue.Empty):
                self._idle.get(timeout=0.1).close()
                num_open -= 1

    def _take(self) -> Sandbox:
        while True:
            self.check()
            with suppress(queue.Empty):
                return self._idle.get(timeout=0.2)
