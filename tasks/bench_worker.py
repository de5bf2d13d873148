"""Bare-machine entry point: check whether instances make tasks, one request at a time.

`python -m tasks.bench_worker` runs as the child of an `extract.sandbox.Sandbox` and needs torch and pyarrow alone:

- `{"do": "check", "seed": int, "num_draws": int}` with a program as payload (`storage.records.program_to_bytes`) ->
  `{"check": fields of InstanceCheck}`

What the program raises is a reason in the check; a reply always has `seconds`, the wall time here. One thread.
"""

from __future__ import annotations

import argparse
import gc
import os
import time
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

from extract.sandbox_child import FDS_NAME, serve, take_pipes
from extract.sandbox_frames import Header

if TYPE_CHECKING:
    from passbench.instance_check import InstanceCheck


def main(argv: Sequence[str] | None = None) -> None:
    """Serve the sandbox that started this process; exits with a usage message where there is none."""
    parser = argparse.ArgumentParser(prog="python -m tasks.bench_worker", description=(__doc__ or "").split("\n")[0])
    parser.parse_args(argv)
    if FDS_NAME not in os.environ:
        parser.error(f"{FDS_NAME} is not set: this is the child of a sandbox; start `passnet bench build` instead")
    pipes = take_pipes()
    prepare()
    serve(pipes, answer)


def prepare() -> None:
    """Import what every request needs; one thread, so that sums are added in one order."""
    import importlib

    import torch

    torch.set_num_threads(1)
    for name in ("passbench.checking", "storage.records"):
        importlib.import_module(name)
    gc.collect()
    gc.freeze()


def answer(header: Header, payload: bytes) -> tuple[Header, bytes]:
    """Answer one request; nothing is left of its program after it."""
    started = time.perf_counter()
    found = _check(payload, header["seed"], header["num_draws"])
    gc.collect()
    return {"check": asdict(found), "seconds": time.perf_counter() - started}, b""


def _check(payload: bytes, seed: int, num_draws: int) -> InstanceCheck:
    from extract.failure import describe
    from passbench.checking import check_instance
    from passbench.instance_check import Degenerate, InstanceCheck
    from storage.records import program_from_bytes

    try:
        program = program_from_bytes(payload)
    except Exception as error:  # foreign code: a text that is no program, in as many ways as there are
        return InstanceCheck(Degenerate.RAISES, describe(error))
    return check_instance(program, seed, num_draws)


if __name__ == "__main__":
    main()
