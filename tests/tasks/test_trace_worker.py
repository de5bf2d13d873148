"""The trace worker needs torch, timm and pyarrow alone, and turns what a model raises into a reason."""

import subprocess
import sys
from pathlib import Path

import pytest

from extract.failure import Reason, SubjectError
from extract.sandbox import Sandbox
from storage.records import tables_from_bytes
from tasks.trace import CONSTRAINTS
from tasks.trace_worker import explain

ROOT = Path(__file__).parents[2]
WORKER = [sys.executable, "-m", "tasks.trace_worker"]
FOREIGN = {"prefect", "duckdb", "polars", "xxhash", "orjson", "typer", "rich"}


def caused(error: BaseException, cause: BaseException) -> BaseException:
    error.__cause__ = cause
    return error


@pytest.mark.parametrize(
    ("error", "reason", "detail"),
    [
        (ValueError("odd\n  thing"), "forward_failed", "ValueError: odd thing"),
        (SystemExit(3), "exited", "SystemExit: 3"),
        (KeyboardInterrupt(), "forward_failed", "KeyboardInterrupt"),
        (RecursionError("deep"), "forward_failed", "RecursionError: deep"),
        (MemoryError(), "out_of_memory", "MemoryError"),
        (RuntimeError("DefaultCPUAllocator: can't allocate memory"), "out_of_memory", "DefaultCPUAllocator: can't"),
        (SubjectError("timm/x", Reason.BUILD_FAILED, "no"), "build_failed", "no"),
        (caused(SubjectError("timm/x", Reason.FORWARD_FAILED, "big"), MemoryError()), "out_of_memory", "big"),
    ],
)
def test_what_a_model_raises_has_a_reason_and_one_line(error: BaseException, reason: str, detail: str) -> None:
    explained = explain(error)
    assert explained["reason"] == reason
    assert explained["detail"].startswith(detail)


def test_a_message_that_is_no_text_becomes_text() -> None:
    assert explain(ValueError("no \ud800 text"))["detail"] == "ValueError: no ? text"


@pytest.mark.parametrize("spoiler", ["poison_change_dtype", "poison_change_hash"])
def test_what_an_imported_model_changes_ends_with_its_own_request(spoiler: str) -> None:
    sandbox = Sandbox([*WORKER, "--import=tests.poison.poison_models"])
    try:
        signatures = []
        for name in ("test_vit", spoiler, "test_vit"):
            reply, payload = sandbox.request({"do": "trace", "model_id": f"timm/{name}", "max_params": None})
            assert "failure" not in reply
            signatures.append(tables_from_bytes(payload)["graphs"].column("signature_sha256")[0].as_py())
        assert sandbox.num_served == 3
    finally:
        sandbox.close()
    assert signatures[0] == signatures[2] != signatures[1]


def test_help_names_the_worker_and_needs_no_sandbox() -> None:
    run = subprocess.run([*WORKER, "--help"], cwd=ROOT, capture_output=True, text=True)
    assert (run.returncode, "--import MODULE" in run.stdout) == (0, True)


def test_worker_outside_a_sandbox_says_what_to_do() -> None:
    run = subprocess.run(WORKER, cwd=ROOT, capture_output=True, text=True)
    assert run.returncode == 2
    assert "start `passnet refresh` instead" in run.stderr


def test_worker_loads_nothing_that_a_bare_machine_lacks() -> None:
    code = "import sys, tasks.trace_worker as w; w.prepare(); print(*{n.partition('.')[0] for n in sys.modules})"
    run = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert FOREIGN & set(run.stdout.split()) == set()


def test_warm_worker_discovers_traces_and_validates() -> None:
    with Sandbox(WORKER, env={"PYTORCH_JIT": "0"}) as sandbox:
        named, _ = sandbox.request({"do": "discover", "source": "timm"})
        assert "timm/resnet18" in {model["model_id"] for model in named["models"]}
        reply, payload = sandbox.request({"do": "trace", "model_id": "timm/test_resnet", "max_params": None})
        assert "failure" not in reply
        tables = tables_from_bytes(payload)
        assert {name: tables[name].num_rows for name in ("models", "graphs", "graph_texts", "graph_sources")} == {
            "models": 1,
            "graphs": 1,
            "graph_texts": 1,
            "graph_sources": 1,
        }
        _, verdicts = sandbox.request({"do": "validate", "level": "fake"}, payload)
        judged = tables_from_bytes(verdicts)["constraints"]
        assert set(judged.column("constraint").to_pylist()) == set(CONSTRAINTS)
        refused, _ = sandbox.request({"do": "trace", "model_id": "timm/test_resnet", "max_params": 10})
        assert refused["failure"]["reason"] == "over_max_params"
        assert sandbox.num_started == 1
