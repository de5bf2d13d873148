"""What each benchmark prints."""

from __future__ import annotations

import json

import pytest

from benchmarks.calibrate import measure
from benchmarks.report import print_report
from benchmarks.stopwatch import Stopwatch


def test_the_last_line_is_the_ratio(capsys: pytest.CaptureFixture[str]) -> None:
    print_report({"total_s": 1.5, "missing": None}, 12.25, as_json=False, other_ratios={"export": 4.0})
    lines = capsys.readouterr().out.splitlines()
    assert lines[-2:] == ["ratio_export=4", "ratio=12.25"]
    assert "missing  -" in lines


def test_json_holds_all_figures_and_is_followed_by_the_ratio(capsys: pytest.CaptureFixture[str]) -> None:
    print_report({"models": [{"model": "a"}]}, 2.0, as_json=True)
    *figures, last = capsys.readouterr().out.splitlines()
    assert json.loads("\n".join(figures)) == {"models": [{"model": "a"}], "ratio": 2.0}
    assert last == "ratio=2"


def test_calibration_measures_hashes_and_sorts() -> None:
    figures = measure(1 << 21, 10_000)
    assert all(figures[name] > 0 for name in ("sha256_s", "xxh3_128_s", "polars_sort_s", "numpy_sort_s"))


def test_a_stage_is_charged_when_its_block_raises() -> None:
    stopwatch = Stopwatch()
    with pytest.raises(ValueError, match="foreign"), stopwatch.stage("trace"):
        raise ValueError("foreign")
    stopwatch.add("trace", 1.0)
    assert stopwatch.total_seconds == stopwatch.seconds["trace"] > 1.0
