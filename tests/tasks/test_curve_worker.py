"""The curve worker counts what it is asked for, says what it does not know, and needs torch and pyarrow alone."""

from __future__ import annotations

import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from extract.model_ref import ModelRef, Trace
from extract.sandbox import Limits, Sandbox
from storage.records import tables_to_bytes, trace_tables
from tests.tasks.test_mine import chain
from tests.tasks.test_trace_worker import FOREIGN

ROOT = Path(__file__).parents[2]
WORKER = [sys.executable, "-m", "tasks.curve_worker"]
ASKED: dict[str, Any] = {"target": "cpu", "is_exact": False}


def payload() -> bytes:
    graph = chain("linear", "relu", "linear", "tanh")
    trace = Trace(ModelRef("user/chain", "user", "chain"), graph, "function_mode", "meta", (), "2.14.1", 0.1, 0.1)
    tables = trace_tables(trace, datetime.now(UTC))
    return tables_to_bytes({name: tables[name] for name in ("graphs", "graph_texts", "nodes")})


def test_a_child_counts_by_key_and_says_when_it_is_new() -> None:
    sent = payload()
    with Sandbox(WORKER, Limits(seconds=120)) as sandbox:
        first, _ = sandbox.request({"do": "advance", **ASKED, "counts": {}}, sent)
        keys = first["needs"]
        assert keys
        counted, _ = sandbox.request({"do": "count", **ASKED, "keys": keys[:2]}, sent)
        assert set(counted["counts"]) == set(keys[:2])
        sandbox.close()  # what it knew is gone
        lost, _ = sandbox.request({"do": "count", **ASKED, "keys": keys[2:]}, sent)
        assert lost["is_new"]
        rest, _ = sandbox.request({"do": "count", **ASKED, "keys": keys[2:], "counts": {}}, sent)
        known = {**counted["counts"], **rest["counts"]}
        done, _ = sandbox.request({"do": "advance", **ASKED, "counts": known}, sent)
        while "needs" in done:  # checks of what the windows say
            more, _ = sandbox.request({"do": "count", **ASKED, "keys": done["needs"]}, sent)
            known |= more["counts"]
            done, _ = sandbox.request({"do": "advance", **ASKED, "counts": known}, sent)
        assert done["curve"]["kernels"] == [1, 2, 3, 4]
        bad, _ = sandbox.request({"do": "advance", **ASKED, "counts": {}}, b"no tables")
        assert bad["failure"]["reason"] == "curve_failed"
        assert "\n" not in bad["failure"]["detail"]


def test_the_worker_starts_where_a_bare_machine_lacks_the_rest() -> None:
    code = (
        f"import sys; sys.modules.update(dict.fromkeys({sorted(FOREIGN)!r}));"
        "import tasks.curve_worker as w; w.prepare(); import profiles.kernels.counting, storage.records; print('ready')"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True, capture_output=True, text=True)
    assert done.stdout.strip() == "ready"


def test_a_worker_without_a_sandbox_says_what_to_start() -> None:
    done = subprocess.run(WORKER, cwd=ROOT, check=False, capture_output=True, text=True)
    assert done.returncode == 2
    assert "passnet curves" in done.stderr
