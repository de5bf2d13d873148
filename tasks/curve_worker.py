"""Bare-machine entry point: plan the programs that a graph's kernel curve needs, one request at a time.

`python -m tasks.curve_worker` runs as the child of an `extract.sandbox.Sandbox` and needs torch and pyarrow alone: what
it does to torch's planning stays in it. Each request carries the tables of one graph (`graphs`, `graph_texts`, `nodes`)
and names a target:

- `{"do": "advance", "target": "cuda:a30", "is_exact": bool, "counts": {key: fields of Count}}` ->
  `{"needs": [key, ...]}` or `{"curve": fields of Curve}`
- `{"do": "count", ..., "keys": [key, ...]}` -> `{"counts": {key: fields of Count}}`; the keys are some that `advance`
  named. A child that was started since knows none: `{"is_new": true}`, and wants the `counts` of that `advance` too

An expected failure is `{"failure": {"reason": ..., "detail": ...}}`; a reply always has `seconds`, the wall time here.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import logging
import os
import time
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from extract.sandbox_child import FDS_NAME, serve, take_pipes
from extract.sandbox_frames import Header

if TYPE_CHECKING:
    from profiles.kernels.counting import GraphCounter

_DETAIL_CHARS = 1000


def main(argv: Sequence[str] | None = None) -> None:
    """Serve the sandbox that started this process; exits with a usage message where there is none."""
    parser = argparse.ArgumentParser(prog="python -m tasks.curve_worker", description=(__doc__ or "").split("\n")[0])
    parser.parse_args(argv)
    if FDS_NAME not in os.environ:
        parser.error(f"{FDS_NAME} is not set: this is the child of a sandbox; start `passnet curves` instead")
    pipes = take_pipes()
    prepare()
    session = CurveSession()
    serve(pipes, session.answer)


def prepare() -> None:
    """Import what every request needs; one line on stderr where this torch's planning is not the one that is known."""
    import torch

    from profiles.kernels.torch_versions import check_torch

    torch.set_num_threads(1)
    logging.disable(logging.WARNING)  # planning remarks on every small GPU
    check_torch()


class CurveSession:
    """Keeps the last graph that was asked about, and its target's patches, between requests."""

    def __init__(self) -> None:
        self._stack = contextlib.ExitStack()
        self._target: str | None = None
        self._counter: GraphCounter | None = None
        self._asked: tuple[str, bool] | None = None

    def answer(self, header: Header, payload: bytes) -> tuple[Header, bytes]:
        """Answer one request; what a graph raises becomes a failure in the reply."""
        started = time.perf_counter()
        try:
            reply = self._answer(header, payload)
        except Exception as error:  # foreign code
            said = " ".join(f"{type(error).__name__}: {error}".split())
            reply = {"failure": {"reason": "curve_failed", "detail": said[:_DETAIL_CHARS]}}
        return {**reply, "seconds": time.perf_counter() - started}, b""

    def _answer(self, header: Header, payload: bytes) -> dict[str, Any]:
        from profiles.kernels.curve import Curve

        counter = self._counter_for(header, payload)
        if header["do"] == "count":
            if not counter.known_keys >= set(header["keys"]):
                if "counts" not in header:
                    return {"is_new": True}
                counter.advance(_counts(header))
            return {"counts": {key: asdict(count) for key, count in counter.count(header["keys"]).items()}}
        made = counter.advance(_counts(header))
        return {"curve": asdict(made)} if isinstance(made, Curve) else {"needs": list(made)}

    def _counter_for(self, header: Header, payload: bytes) -> GraphCounter:
        from profiles.kernels.counting import GraphCounter
        from profiles.kernels.curve import CurveConfig
        from profiles.kernels.scheduler import planning_for
        from profiles.kernels.targets import TARGETS
        from storage.records import graph_from_payload

        if self._target != header["target"]:
            self._stack.close()
            self._stack.enter_context(planning_for(TARGETS[header["target"]]))
            self._target, self._counter = header["target"], None
        asked = hashlib.blake2b(payload).hexdigest(), bool(header["is_exact"])
        if self._counter is None or self._asked != asked:
            graph = graph_from_payload(payload)
            self._counter = GraphCounter(graph, header["target"], CurveConfig(header["is_exact"]))
            self._asked = asked
        return self._counter


def _counts(header: Header) -> dict[str, Any]:
    from profiles.kernels.curve import Count

    return {key: Count(**fields) for key, fields in header["counts"].items()}


if __name__ == "__main__":
    main()
