"""The fidelity run: which models, what is read again, and an entry per model whatever becomes of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from benchmarks import fidelity
from benchmarks.fidelity import candidate_ids, check, read_counts, read_log


def test_candidates_take_one_of_each_family_before_a_second() -> None:
    ids = candidate_ids("timm")
    assert ids == candidate_ids("timm")
    assert len(set(ids)) == len(ids) > 1000


def test_counts_are_read_by_source() -> None:
    assert read_counts("timm:200,transformers:100") == {"timm": 200, "transformers": 100}
    with pytest.raises(ValueError):
        read_counts("timm")


def test_a_run_checks_what_its_log_lacks_and_replaces_skipped_models(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ids = ["timm/test_vit", "timm/resnet152", "timm/no_such_model", "timm/test_resnet"]
    monkeypatch.setattr(fidelity, "candidate_ids", lambda source: ids)
    log = tmp_path / "out" / "log.jsonl"
    entries = check("timm", 3, 5_000_000, log)
    told = {entry["model"]: (entry["outcome"], entry["reason"]) for entry in entries}
    assert told == {
        "timm/test_vit": ("identical", None),
        "timm/no_such_model": ("failed", "unknown_model"),
        "timm/test_resnet": ("identical", None),
    }
    assert read_log(log)["timm/resnet152"]["outcome"] == "skipped"
    log.write_text(log.read_text() + '{"model": "timm/cut')

    def never(*arguments: Any) -> dict[str, Any]:
        raise AssertionError(arguments)

    monkeypatch.setattr(fidelity, "check_model", never)
    assert check("timm", 3, 5_000_000, log) == entries
    assert json.loads(log.read_text().splitlines()[0])["seconds"] > 0
