"""What a graph gives short of another: rows wait, and the better of two graphs is written, nothing lost or doubled."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from storage.schemas import SCHEMAS
from tasks.second_places import OF_THE_MODEL, SecondPlaces

A, B = "a" * 64, "b" * 64


def rows_of(signature: str, **missing: list[str]) -> dict[str, pa.Table]:
    """Tables of a graph whose subgraphs lack an instance for each reason, of three that are wanted."""
    made: dict[str, list[dict[str, Any]]] = {"generalizations": [], "instances": [], "missing_instances": []}
    for subgraph, reasons in missing.items():
        about = {"subgraph_sha256": subgraph, "signature_sha256": signature}
        made["generalizations"].append({**about, "num_instances": 3 - len(reasons), "num_missing": len(reasons)})
        made["instances"] += [{**about, "instance_sha256": f"{subgraph}{number}"} for number in range(3 - len(reasons))]
        made["missing_instances"] += [{**about, "reason": reason} for reason in reasons]
    return {name: _table(name, rows) for name, rows in made.items()}


def _table(name: str, rows: list[dict[str, Any]]) -> pa.Table:
    schema = SCHEMAS[name]
    return pa.table({field.name: pa.array([row.get(field.name) for row in rows], field.type) for field in schema})


def written(tables: dict[str, pa.Table]) -> dict[str, tuple[str, int, int]]:
    """The graph that each subgraph's rows come from, its instances and its missing ones."""
    found: dict[str, tuple[str, int, int]] = {}
    for row in tables["generalizations"].to_pylist():
        counts = [
            tables[name].column("subgraph_sha256").to_pylist().count(row["subgraph_sha256"])
            for name in ("instances", "missing_instances")
        ]
        assert counts == [row["num_instances"], row["num_missing"]]
        found[row["subgraph_sha256"]] = (row["signature_sha256"], *counts)
    return found


@pytest.mark.parametrize("reason", OF_THE_MODEL)
def test_what_falls_short_for_its_model_waits_for_a_second_graph(reason: str) -> None:
    places = SecondPlaces()
    first = places.sift(A, rows_of(A, x=[reason], y=[]), {"x": 2, "y": 2})
    assert written(first) == {"y": (A, 3, 0)}
    assert places.passed_over == [f"x {A}"]
    assert written(places.sift(B, rows_of(B, x=[]), {"x": 1})) == {"x": (B, 3, 0)}
    assert written(places.rest()) == {}


@pytest.mark.parametrize(("second", "taken"), [(["ops_changed"], A), (["ops_changed"] * 2, A), ([], B)])
def test_the_graph_that_gives_more_is_written_and_of_equals_the_first(second: list[str], taken: str) -> None:
    places = SecondPlaces()
    places.sift(A, rows_of(A, x=["ops_changed"]), {"x": 3})
    found = written(places.sift(B, rows_of(B, x=second, z=[]), {"x": 2}))
    assert found["x"][0] == taken and found["z"] == (B, 3, 0)
    assert places.passed_over == [f"x {A}"] and written(places.rest()) == {}


@pytest.mark.parametrize("reason", ["duplicate_config", "over_max_bytes", "shape_invariant"])
def test_what_no_other_model_can_help_does_not_wait(reason: str) -> None:
    places = SecondPlaces()
    assert written(places.sift(A, rows_of(A, x=[reason]), {"x": 9})) == {"x": (A, 2, 1)}
    assert written(places.sift(A, rows_of(A, y=["ops_changed"]), {"y": 1})) == {"y": (A, 2, 1)}
    assert places.passed_over == []


def test_what_no_second_graph_gave_is_written_in_the_end_once() -> None:
    places = SecondPlaces()
    places.sift(A, rows_of(A, x=["ops_changed"], y=["shape_refused"]), {"x": 2, "y": 2})
    assert written(places.rest()) == {"x": (A, 2, 1), "y": (A, 2, 1)}
    assert written(places.rest()) == {}


def test_a_graph_that_failed_leaves_what_waits() -> None:
    places = SecondPlaces()
    places.sift(A, rows_of(A, x=["ops_changed"]), {"x": 2})
    failure = {"failures": pa.table({"subject": [B]})}
    assert places.sift(B, failure, {"x": 1}) == failure
    assert written(places.rest()) == {"x": (A, 2, 1)}
