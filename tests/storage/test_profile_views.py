"""The figures of a profile report: SQL views give what plain Python makes of the same small table."""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import duckdb
import pytest

from profiles.timing import Status, Timing
from storage.corpus import Corpus
from storage.fsck import fsck
from storage.queries import PROFILE_VIEWS, query_text
from storage.query import run_sql
from storage.reference import REFERENCES
from storage.timing_records import timing_tables
from tests.storage.profile_corpus import (
    A30,
    CASES,
    CPU,
    ENVIRONMENTS,
    OVERHEAD_US,
    VALID,
    Case,
    profile_run,
    timing,
    write_profiles,
)


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    return write_profiles(tmp_path_factory.mktemp("profiles") / "corpus")


def rows_of(corpus: Corpus, sql: str) -> list[dict[str, Any]]:
    answer = run_sql(corpus, sql)
    return [dict(zip(answer.columns, row, strict=True)) for row in answer.rows]


def on(
    corpus: Corpus, view: str, device: str = A30, backend: str = "inductor", order: str = "ALL"
) -> list[dict[str, Any]]:
    return rows_of(corpus, f"FROM {view} WHERE device_id = '{device}' AND backend = '{backend}' ORDER BY {order}")


def speedup(case: Case) -> float:
    assert case.latency_us is not None
    return case.eager_us / case.latency_us


def kernel_speedup(case: Case) -> float:
    assert case.device_us is not None
    return case.eager_device_us / case.device_us


def commit(corpus: Corpus, timings: Sequence[Timing], run_id: str, day: int) -> None:
    device = timings[0].device_id
    tables = timing_tables(timings, [ENVIRONMENTS[device]], [profile_run(device, run_id, day)])
    with Corpus.open(corpus.root, write=True) as opened:
        opened.commit(opened.stage(tables, run_id), run_id)


def test_success_counts_unstable_timings_or_rejects_them(corpus: Corpus) -> None:
    (row,) = on(corpus, "profile_success")
    num_ok = sum(case.status == Status.OK for case in CASES)
    assert (row["num_tried"], row["num_ok"], row["num_stable_ok"]) == (len(CASES), num_ok, len(VALID))
    assert row["success_kept_frac"] == pytest.approx(num_ok / len(CASES))
    assert row["success_frac"] == pytest.approx(len(VALID) / len(CASES))
    assert row["unstable_of_failures_frac"] == pytest.approx(1 / 3)  # noisy, broken, wrong
    assert row["backend_failed_frac"] == pytest.approx(2 / len(CASES))
    assert row["seconds_beyond_compile"] == pytest.approx(0.5)
    (eager,) = on(corpus, "profile_success", backend="eager")
    assert (eager["success_frac"], eager["stable_frac"], eager["backend_failed_frac"]) == (1.0, 1.0, None)


def test_failures_are_counted_by_status_and_noise_apart(corpus: Corpus) -> None:
    rows = {row["cause"]: row for row in on(corpus, "profile_failures")}
    assert {cause: row["num_instances"] for cause, row in rows.items()} == {
        "compile_failed": 1, "not_finite": 1, "unstable": 1,
    }  # fmt: skip
    assert all(row["failures_frac"] == pytest.approx(1 / 3) for row in rows.values())
    assert rows["compile_failed"]["detail"] == "broken went wrong"


@pytest.mark.parametrize(("clock", "factor"), [("kernel", kernel_speedup), ("latency", speedup)])
def test_speedups_fall_into_the_ranges_of_table_7(corpus: Corpus, clock: str, factor: Any) -> None:
    def range_of(case: Case) -> str:
        value = factor(case)
        return "<1.0" if value < 1 else "1.0-1.2" if value < 1.2 else "1.2-2.0" if value < 2 else ">=2.0"

    rows = [row for row in on(corpus, "profile_speedups", order="range_order") if row["clock"] == clock]
    assert [row["speedup_range"] for row in rows] == ["<1.0", "1.0-1.2", "1.2-2.0", ">=2.0"]
    expected = Counter(map(range_of, VALID))
    assert {row["speedup_range"]: row["num_instances"] for row in rows} == {
        name: expected[name] for name in ("<1.0", "1.0-1.2", "1.2-2.0", ">=2.0")
    }
    assert sum(row["instances_frac"] for row in rows) == pytest.approx(1)


def test_each_slowdown_has_one_cause_and_kernels_are_tried_first(corpus: Corpus) -> None:
    causes = {
        "small graph": ["tiny", "small"],
        "dispatch overhead": ["dispatch"],
        "kernel degradation": ["small_degraded", "large_degraded"],
        "other": ["marginal"],
    }
    rows = on(corpus, "profile_slowdowns", order="cause_order")
    assert [row["cause"] for row in rows] == list(causes)
    by_name = {case.name: case for case in VALID}
    num_slow = sum(speedup(case) < 1 for case in VALID)
    for row in rows:
        own = [by_name[name] for name in causes[row["cause"]]]
        assert row["num_instances"] == len(own)
        assert row["instances_frac"] == pytest.approx(len(own) / num_slow)
        assert row["median_speedup"] == pytest.approx(statistics.median(map(speedup, own)))
        within = [case for case in own if (case.latency_us or 0) - case.eager_us <= OVERHEAD_US]
        assert row["within_overhead_frac"] == pytest.approx(len(within) / len(own))


def test_on_a_cpu_kernels_have_no_clock_and_size_is_tried_first(corpus: Corpus) -> None:
    assert all(row["kernel_speedup"] is None for row in on(corpus, "profile_pairs", CPU))
    kernel = [row for row in on(corpus, "profile_speedups", CPU) if row["clock"] == "kernel"]
    assert {(row["num_instances"], row["instances_frac"]) for row in kernel} == {(None, None)}
    counts = {row["cause"]: row["num_instances"] for row in on(corpus, "profile_slowdowns", CPU)}
    assert counts == {"small graph": 3, "dispatch overhead": 1, "kernel degradation": 1, "other": 1}
    (headline,) = on(corpus, "profile_headline", CPU)
    assert headline["slow_frac"] == pytest.approx(6 / 9)
    assert [name for name, value in headline.items() if value is None] == [
        "median_kernel_speedup", "geomean_kernel_speedup", "degraded_frac", "marginal_frac", "slow_kernels_faster_frac",
        "slow_kernels_faster_median",
    ]  # fmt: skip
    assert on(corpus, "profile_headroom", CPU) == []


def test_the_share_of_slow_ones_by_size(corpus: Corpus) -> None:
    bins = {"1-5": (1, 5), "6-14": (6, 14), "15-29": (15, 29), "30-50": (30, 50), ">50": (51, math.inf)}
    rows = on(corpus, "profile_bad_by_size", order="size_order")
    assert [row["num_ops_range"] for row in rows] == list(bins)
    for row in rows:
        low, high = bins[row["num_ops_range"]]
        own = [case for case in VALID if low <= len(case.ops) <= high]
        assert (row["num_instances"], row["num_slow"]) == (len(own), sum(speedup(case) < 1 for case in own))
        assert row["slow_frac"] == pytest.approx(row["num_slow"] / len(own))


def test_precision_classes_and_their_mean_speedups(corpus: Corpus) -> None:
    rows = {row["precision"]: row for row in on(corpus, "profile_precision")}
    compared = [case for case in CASES if case.status == Status.OK]
    assert rows["bitwise identical"]["num_instances"] == sum(case.bitwise_equal for case in compared)
    assert rows["<1e-6"]["num_instances"] == sum(case.max_abs_diff < 1e-6 for case in compared)
    assert rows["1e-6-1e-3"]["num_instances"] == 1
    coarse = [case for case in VALID if case.max_abs_diff >= 1e-3]
    assert rows[">=1e-3"]["instances_frac"] == pytest.approx(len(coarse) / len(compared))
    assert rows[">=1e-3"]["mean_kernel_speedup"] == pytest.approx(statistics.fmean(map(kernel_speedup, coarse)))
    assert rows[">=1e-3"]["mean_speedup"] == pytest.approx(statistics.fmean(map(speedup, coarse)))


def test_correlation_with_size_is_pearsons(corpus: Corpus) -> None:
    rows = {row["clock"]: row["pearson"] for row in on(corpus, "profile_correlation")}
    sizes = [float(len(case.ops)) for case in VALID]
    assert rows["kernel"] == pytest.approx(statistics.correlation(sizes, list(map(kernel_speedup, VALID))))
    assert rows["latency"] == pytest.approx(statistics.correlation(sizes, list(map(speedup, VALID))))
    assert {row["clock"]: row["pearson"] for row in on(corpus, "profile_correlation", CPU)}["kernel"] is None


def test_headline_figures(corpus: Corpus) -> None:
    (row,) = on(corpus, "profile_headline")
    slow = [case for case in VALID if speedup(case) < 1]
    assert row["slow_frac"] == pytest.approx(len(slow) / len(VALID))
    assert row["geomean_speedup"] == pytest.approx(statistics.geometric_mean(map(speedup, VALID)))
    assert row["degraded_frac"] == pytest.approx(sum(kernel_speedup(case) < 1 for case in VALID) / len(VALID))
    assert row["slow_kernels_faster_frac"] == pytest.approx(sum(kernel_speedup(case) > 1 for case in slow) / len(slow))
    assert row["median_num_ops_slow"] == statistics.median(len(case.ops) for case in slow)


def test_families_ops_and_patterns_cover_the_valid_pairs(corpus: Corpus) -> None:
    families = {row["family"]: row["num_instances"] for row in on(corpus, "profile_by_family")}
    assert families == Counter(case.family for case in VALID)
    ops = {row["op"]: row["num_instances"] for row in on(corpus, "profile_by_op")}
    assert ops == Counter(op for case in VALID for op in set(case.ops))
    patterns = {row["pattern"]: row["median_speedup"] for row in on(corpus, "profile_by_pattern")}
    assert patterns == {" ".join(case.ops): pytest.approx(speedup(case)) for case in VALID}


def test_the_roof_is_the_longer_of_bytes_and_flop(corpus: Corpus) -> None:
    rows = {row["instance_sha256"]: row for row in on(corpus, "profile_roofline")}
    assert "wrong" not in rows
    assert (rows["tiny"]["bound"], rows["tiny"]["roofline_us"]) == ("memory", pytest.approx(1000))
    assert rows["faster"]["compute_us"] == pytest.approx(1000)  # the A30's peak of float16
    assert (rows["fast"]["bound"], rows["fast"]["roofline_us"]) == (
        "compute",
        pytest.approx(2000),
    )  # TF32: it convolves
    assert rows["fast"]["headroom"] == pytest.approx(300 / 2000)
    assert rows["fast"]["kernel_headroom"] == pytest.approx(200 / 2000)
    assert {row["bound"] for row in on(corpus, "profile_roofline", CPU)} == {None}
    eager = {row["instance_sha256"]: row for row in on(corpus, "profile_roofline", backend="eager")}
    assert (eager["wrong"]["compute_us"], eager["wrong"]["roofline_us"], eager["wrong"]["headroom"]) == (
        1.0,
        None,
        None,
    )
    counts = {row["bound"]: row["num_instances"] for row in on(corpus, "profile_headroom")}
    assert counts == {"compute": 1, "memory": len(VALID) - 1}


def test_tolerance_levels_add_up_by_dtype(corpus: Corpus) -> None:
    rows = [row for row in on(corpus, "profile_tolerance", order="tolerance_level") if row["dtype"] == "float32"]
    assert [row["tolerance_level"] for row in rows] == list(range(-10, 1))
    assert {row["num_instances"] for row in rows} == {9}
    assert {row["tolerance_level"]: row["num_first"] for row in rows if row["num_first"]} == {
        -10: 5,
        -7: 1,
        -5: 1,
        -3: 1,
    }
    assert [row["num_passing"] for row in rows] == [5, 5, 5, 6, 6, 7, 7, 8, 8, 8, 8]  # one passes nowhere
    assert rows[-1]["passing_frac"] == pytest.approx(8 / 9)


def test_the_overhead_is_that_of_an_empty_graph(corpus: Corpus) -> None:
    (row,) = on(corpus, "profile_overhead")
    assert (row["over_eager_us"], row["is_newest"]) == (OVERHEAD_US, True)
    assert {row["overhead_us"] for row in on(corpus, "profile_pairs")} == {OVERHEAD_US}


def test_settings_say_what_was_timed(corpus: Corpus) -> None:
    (row,) = on(corpus, "profile_settings")
    assert (row["device_name"], row["num_instances"], row["num_timed"]) == ("NVIDIA A30", len(CASES), len(CASES) - 1)
    assert row["kinds"] == {"classical": len(CASES) - 1, "classical+fusible": 1}
    (row,) = on(corpus, "profile_settings", CPU)
    assert row["num_device_timed"] == 0


def test_the_newest_run_counts_with_eager_of_its_own(tmp_path: Path) -> None:
    corpus = write_profiles(tmp_path / "corpus", (A30,))
    case = CASES[0]
    again = [
        timing(case, "eager", A30, "run-2", latency_us=70.0),
        timing(case, "inductor", A30, "run-2", latency_us=35.0),
    ]
    commit(corpus, again, "run-2", day=2)
    older = [
        timing(case, "eager", A30, "run-0", latency_us=1.0),
        timing(case, "inductor", A30, "run-0", latency_us=9.0),
    ]
    commit(corpus, older, "run-0", day=1)
    pairs = {row["instance_sha256"]: row for row in on(corpus, "profile_pairs")}
    assert len(pairs) == sum(case.latency_us is not None for case in CASES)
    assert (pairs["tiny"]["run_id"], pairs["tiny"]["speedup"]) == ("run-2", 2.0)
    missing = [timing(case, "inductor", A30, "run-3", status=Status.UNAVAILABLE, latency_us=None, stable=None)]
    commit(corpus, missing, "run-3", day=3)
    assert {row["run_id"] for row in on(corpus, "profile_pairs") if row["instance_sha256"] == "tiny"} == {"run-2"}
    commit(corpus, [timing(case, "inductor", A30, "run-4", latency_us=30.0)], "run-4", day=4)
    assert "tiny" not in {row["instance_sha256"] for row in on(corpus, "profile_pairs")}, "eager is of another run"
    assert on(corpus, "profile_success")[0]["num_tried"] == len(CASES)


def test_fsck_finds_timings_of_nothing(tmp_path: Path) -> None:
    with Corpus.create(tmp_path / "corpus") as corpus:
        rows = timing_tables([timing(CASES[0], "eager", A30)], [], [profile_run(CPU)])
        corpus.commit(corpus.stage(rows, "run-1"), "run-1")
    problems = {(finding.subject, finding.problem.partition(": ")[2][:15]) for finding in fsck(corpus)}
    assert problems == {
        ("timings", "its instance is"), ("timings", "its environment"), ("timings", "its run run-1 ("),
        ("profile_runs", "its environment"),
    }  # fmt: skip


def test_views_of_a_corpus_without_timings_are_empty(tmp_path: Path) -> None:
    with Corpus.create(tmp_path / "empty") as empty, empty.connect() as connection:
        for view in PROFILE_VIEWS:
            assert connection.execute(f"FROM {view}").fetchall() == [], view


def test_each_view_is_a_file_that_opens_with_what_it_says() -> None:
    folder = Path(__file__).resolve().parents[2] / "storage" / "sql"
    assert {path.stem for path in folder.glob("profile_*.sql")} == set(PROFILE_VIEWS)
    assert all(query_text(view).startswith("-- ") for view in PROFILE_VIEWS)


def test_the_catalogue_has_the_views_and_the_reference_tables(corpus: Corpus) -> None:
    with duckdb.connect(str(corpus.write_catalogue()), read_only=True) as connection:
        ours = connection.execute("SELECT success_frac FROM profile_success WHERE backend = 'inductor'").fetchall()
        assert ours == [(pytest.approx(9 / 12),)] * 2
        for name, columns in REFERENCES.items():
            described = connection.execute(f"DESCRIBE {name}").fetchall()
            assert {row[0]: row[1] for row in described} == columns


def test_every_figure_of_the_paper_stands_beside_one_of_ours(corpus: Corpus) -> None:
    no_label = "''"
    labels = {
        "profile_speedups": "clock || ' ' || speedup_range",
        "profile_slowdowns": "cause",
        "profile_precision": "precision",
        "profile_bad_by_size": "num_ops_range",
        "profile_correlation": "clock",
        "profile_overhead": "backend",
    }
    with corpus.connect() as connection:
        figures = connection.execute("SELECT view, row, figure FROM paper_profile").fetchall()
        assert len(figures) > 30
        for view, row, figure in figures:
            place = f"{labels.get(view, no_label)} = '{row}' AND device_id = '{A30}'"
            ours = connection.execute(f"SELECT count({figure}) FROM {view} WHERE {place}").fetchall()
            assert ours > [(0,)], (view, row, figure)


def test_peaks_are_of_the_devices_that_curves_are_planned_for(corpus: Corpus) -> None:
    peaks = rows_of(corpus, "FROM device_peaks")
    for name in ("A30", "A100", "H100", "H200"):
        own = [row for row in peaks if name in row["device_name"]]
        assert own
        assert all(row["float32_flop_per_s"] < row["tf32_flop_per_s"] < row["float16_flop_per_s"] for row in own)
    assert all(row["source"] and 5e11 < row["memory_bytes_per_s"] < 1e13 for row in peaks)
