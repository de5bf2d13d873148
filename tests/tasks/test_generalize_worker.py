"""The child that makes instances: real models traced again, and graphs without one propagated."""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from typing import Any

import pytest

from extract.cut import CutError
from extract.model_tracing import trace_model
from extract.sandbox import Limits, Sandbox
from mining.generalization import Generalizer
from storage.records import tables_from_bytes, tables_to_bytes, trace_tables
from tasks.generalize_worker import answer

WORKER = [sys.executable, "-m", "tasks.generalize_worker"]
MODEL = "timm/test_vit"
BOUNDS = {"max_bytes": 1 << 30, "max_params": None, "max_seconds": 120.0}


@pytest.fixture(scope="module")
def stored() -> dict[str, Any]:
    return trace_tables(trace_model(MODEL), datetime.now(UTC))


def ask(stored: dict[str, Any], **changes: object) -> tuple[dict[str, Any], bytes]:
    (row,) = stored["graphs"].to_pylist()
    header = {"do": "generalize", "model_id": MODEL, "signature_sha256": row["signature_sha256"]}
    payload = tables_to_bytes({name: stored[name] for name in ("graphs", "graph_texts", "nodes")})
    with Sandbox(WORKER, Limits(seconds=300)) as sandbox:
        return sandbox.request({**header, "ranges": [[4, 12, None], [0, 6, None]], **BOUNDS, **changes}, payload)


def last_op(stored: dict[str, Any]) -> list[Any]:
    """Return the last op of the graph as a range, by a key that no other has."""
    (row,) = stored["graphs"].to_pylist()
    return [row["num_ops"] - 1, row["num_ops"], "f" * 64]


def rows_of(payload: bytes, table: str) -> list[dict[str, Any]]:
    return tables_from_bytes(payload)[table].to_pylist()


def test_a_model_gives_thirty_instances_of_each_range_at_sizes_of_two_axes(stored: dict[str, Any]) -> None:
    reply, payload = ask(stored)
    assert "failure" not in reply
    instances = rows_of(payload, "instances")
    assert len(instances) == 60
    assert len({row["instance_sha256"] for row in instances}) == 60
    assert {(row["shape_config"], row["dtype"]) for row in rows_of(payload, "variants")} >= {
        (0, "float32"),
        (11, "float32"),
    }
    for row in rows_of(payload, "generalizations"):
        assert set(row["axes"]) == {"batch", "height", "width"}
        assert row["expressions"]
        assert row["num_held_out"] == 2
    assert all(row["num_bytes"] > 0 and row["num_flop"] is not None for row in instances)


def test_a_single_op_goes_by_its_key(stored: dict[str, Any]) -> None:
    ops = [(row["index"], row["single_op_sha256"]) for row in stored["nodes"].to_pylist()]
    reply, payload = ask(stored, ranges=[[index, index + 1, key] for index, key in ops[:12]])
    assert "failure" not in reply
    made = rows_of(payload, "generalizations")
    assert [row["subgraph_sha256"] for row in made] == [key for _, key in ops[:12]]
    instances = rows_of(payload, "instances")
    assert {row["subgraph_sha256"] for row in instances} == {key for _, key in ops[:12]}
    assert all(row["num_instances"] + row["num_missing"] == 30 for row in made)
    assert sum(row["num_instances"] == 30 for row in made) > 6


def test_a_single_op_that_is_no_cut_has_its_reason(monkeypatch: pytest.MonkeyPatch, stored: dict[str, Any]) -> None:
    (row,) = stored["graphs"].to_pylist()
    header = {"model_id": MODEL, "signature_sha256": row["signature_sha256"], "ranges": [[3, 4, "f" * 64]], **BOUNDS}

    def refuse(*_: object) -> None:
        raise CutError("mutates_boundary", "op 3 writes into what is needed after it")

    monkeypatch.setattr(Generalizer, "generalize", refuse)
    reply, payload = answer({"do": "generalize", "config": None, **header}, b"")
    assert "failure" not in reply
    missing = rows_of(payload, "missing_instances")
    assert len(missing) == 30
    assert {(row["subgraph_sha256"], row["reason"]) for row in missing} == {("f" * 64, "mutates_boundary")}
    assert rows_of(payload, "generalizations")[0]["num_missing"] == 30


def test_what_moves_too_many_bytes_is_missing_for_that(stored: dict[str, Any]) -> None:
    _, payload = ask(stored, max_bytes=300_000)
    instances, missing = rows_of(payload, "instances"), rows_of(payload, "missing_instances")
    assert instances
    assert {row["reason"] for row in missing} == {"over_max_bytes"}
    assert all(row["num_bytes"] <= 300_000 for row in instances)
    assert len(instances) + len(missing) == 60


def test_a_graph_without_a_model_gets_the_sizes_that_can_be_read_from_its_record(stored: dict[str, Any]) -> None:
    reply, payload = ask(stored, recorded=True, model_id="import/test_vit")
    assert "failure" not in reply
    _, traced = ask(stored, ranges=[[4, 12, None], last_op(stored)])  # traced whole, too
    by_model = {
        (row["sizes"]["batch"], row["sizes"]["height"], row["dtype"]): row
        for row in rows_of(traced, "variants")
        if row["sizes"]
    }
    equal = 0
    for row in rows_of(payload, "variants"):
        if row["sizes"] is None:
            assert row["reason"]
            continue
        same = by_model.get((row["sizes"]["batch"], row["sizes"]["height"], row["dtype"]))
        if same is not None and row["sizes"] == same["sizes"]:
            assert row["signature_sha256"] == same["signature_sha256"]
            equal += 1
    assert equal >= 6


def test_variants_end_with_the_last_range_and_instances_are_those_of_whole_ones(stored: dict[str, Any]) -> None:
    first, last = [4, 12, None], last_op(stored)
    _, begun = ask(stored, ranges=[first])
    _, whole = ask(stored, ranges=[first, last])
    assert {row["num_ops"] for row in rows_of(begun, "variants")} == {12, last[1]}
    assert {row["num_ops"] for row in rows_of(whole, "variants")} == {last[1]}
    kept = [row for row in rows_of(whole, "instances") if row["subgraph_sha256"] != last[2]]
    for one, other in zip(rows_of(begun, "instances"), kept, strict=True):
        assert one == {**other, "signature_sha256": one["signature_sha256"]}


def test_what_lies_before_a_call_that_a_dtype_refuses_has_instances_in_it() -> None:
    model_id = "transformers/fnet"
    stored = trace_tables(trace_model(model_id), datetime.now(UTC))
    reply, payload = ask(stored, model_id=model_id, ranges=[[4, 9, None], [10, 14, None]])
    assert "failure" not in reply
    (before, behind) = [row["subgraph_sha256"] for row in rows_of(payload, "generalizations")]
    dtypes = {(row["subgraph_sha256"], row["dtype"]) for row in rows_of(payload, "instances")}
    assert dtypes == {(before, "float32"), (before, "float16"), (before, "bfloat16"), (behind, "float32")}
    missing = [row for row in rows_of(payload, "missing_instances") if row["subgraph_sha256"] == behind]
    assert {(row["reason"], row["dtype"]) for row in missing} == {
        ("dtype_unsupported", "float16"), ("dtype_unsupported", "bfloat16"),
    }  # fmt: skip


def test_a_model_that_is_traced_otherwise_now_is_refused(stored: dict[str, Any]) -> None:
    reply, _ = ask(stored, signature_sha256="0" * 64)
    assert reply["failure"]["reason"] == "trace_changed"


def test_a_model_that_is_not_there_is_a_failure_in_the_reply(stored: dict[str, Any]) -> None:
    reply, _ = ask(stored, model_id="timm/no_such_model")
    assert reply["failure"]["reason"] == "unknown_model"
