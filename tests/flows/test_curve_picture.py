"""`passnet plot curve` over a corpus made by hand: what the picture says, and what it says where there is none."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from extract.failure import Reason
from flows.cli import run
from flows.curve_picture import Curve, Step, op_tip, plot_curve, rows_of
from mining.prefix import find_plateaus
from storage.corpus import Corpus
from storage.records import rows_to_table
from tests.storage.sample_traces import failure
from tests.tasks.test_mine import add_graphs, chain

SVG = "{http://www.w3.org/2000/svg}"
OPS = ("linear", "relu", "mul", "sigmoid", "add", "neg")
KERNELS = [1, 1, 3, None, 2, 3]
STEPS = (  # position, step, reason, detail, other op
    (1, 1, "extern_kernel", "extern_kernels.addmm", None),
    (3, 2, "no_shared_data", "a < b & c", 1),
    (6, 1, "extern_producer", "extern_kernels.addmm", 0),
)


def signature_of(corpus: Corpus, model_id: str) -> str:
    rows = corpus.read("graph_sources").to_pylist()
    return next(row["signature_sha256"] for row in rows if row["model_id"] == model_id)


def add_curve(corpus: Corpus, model_id: str, kernels: Sequence[int | None], target: str, **changed: Any) -> None:
    own = {"signature_sha256": signature_of(corpus, model_id), "target": target}
    own |= {"counter": "scheduler", "is_exact": False} | changed
    counts = {name: 0 for name in ("num_full", "num_flagged", "num_checked", "num_wrong")}
    curve = {
        "kernels": kernels,
        "is_calibrated": target == "cpu",
        "torch_version": "2.14.1",
        "algorithm": "a",
        **counts,
    }
    names = ("position", "step", "reason", "detail", "other_op")
    steps = [{**own, "op": OPS[step[0] - 1], **dict(zip(names, step, strict=True))} for step in STEPS]
    tables = {
        "kernel_curves": rows_to_table("kernel_curves", [{**own, **curve}]),
        "fusion_boundaries": rows_to_table("fusion_boundaries", steps),
    }
    corpus.commit(corpus.stage(tables, "curves"), "curves")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    with Corpus.create(tmp_path_factory.mktemp("curves") / "corpus") as corpus:
        add_graphs(corpus, [chain(*OPS), chain(*OPS, "exp"), chain("neg", *OPS)])
        add_curve(corpus, "timm/m0", KERNELS, "cuda:a30")
        add_curve(corpus, "timm/m1", [*KERNELS, 9], "cpu")
        add_curve(corpus, "timm/m1", [*KERNELS, 7], "cpu", is_exact=True)
        add_curve(corpus, "timm/m1", [*KERNELS, 8], "cpu", counter="called", is_exact=True)
        failed = failure(signature_of(corpus, "timm/m2"), Reason.CURVE_FAILED, "run")
        columns = {"step": "curve", "detail": "cuda:a30 (passnet-kernel-curve/3, torch 2.14.1): no plan"}
        rows = [{**row, **columns} for row in failed.to_pylist()]
        corpus.commit(corpus.stage({"failures": rows_to_table("failures", rows)}, "curves"), "curves")
    return corpus.root


def drawn(folder: Path, picture: Path, *arguments: str) -> str:
    assert run(["plot", "curve", *arguments, "--corpus", str(folder), "--out", str(picture)]) == 0
    return picture.read_text()


def tips_of(svg: str) -> dict[str, str | None]:
    groups = ElementTree.fromstring(svg).iter(f"{SVG}g")
    return {group.get("id", ""): group[0].text for group in groups if len(group) and group[0].tag == f"{SVG}title"}


@pytest.mark.parametrize("ending", ["svg", "html", "png", "pdf"])
def test_a_curve_is_drawn(folder: Path, tmp_path: Path, ending: str) -> None:
    picture = tmp_path / f"curve.{ending}"
    assert run(["plot", "curve", "timm/m0", "--corpus", str(folder), "--out", str(picture)]) == 0
    assert picture.stat().st_size > 1000


def test_each_op_and_each_step_says_what_is_known_of_it(folder: Path, tmp_path: Path) -> None:
    tips = tips_of(drawn(folder, tmp_path / "curve.svg", "timm/m0"))
    assert set(tips) == {*(f"op_{op}" for op in range(6)), "step_0", "step_2", "step_5"}
    said = "op 2 mul\nK(3) = 3\n+2, no_shared_data: a < b & c\ncould not join op 1 (relu)\nfusible range: ops 2 to 4"
    assert tips["op_2"] == tips["step_2"] == said
    assert tips["op_3"] == "op 3 sigmoid\nK(4) = unknown\nfusible range: ops 2 to 4"
    fall = "-1: what the prefix before stored is not stored any more, or fuses now"
    assert tips["op_4"] == f"op 4 add\nK(5) = 2\n{fall}\nfusible range: ops 2 to 4"
    assert tips["op_1"] == "op 1 relu\nK(2) = 1\nfusible range: ops 0 to 1"


def test_the_title_says_whose_curve_it_is_and_what_it_comes_to(folder: Path, tmp_path: Path) -> None:
    svg = drawn(folder, tmp_path / "curve.svg", "timm/m0", "--target", "cuda:a30")
    title = "timm/m0 on cuda:a30: 6 ops, 3 kernels, 2 fusible ranges (uncalibrated)"
    assert title in {text.text for text in ElementTree.fromstring(svg).iter(f"{SVG}text")}
    assert "uncalibrated" not in drawn(folder, tmp_path / "curve.svg", "timm/m1", "--target", "cpu")


def test_the_exact_curve_of_the_scheduler_is_preferred(folder: Path, tmp_path: Path) -> None:
    assert "timm/m1 on cpu: 7 ops, 7 kernels" in drawn(folder, tmp_path / "curve.svg", "timm/m1", "--target", "cpu")


def test_a_legend_counts_the_steps_of_each_reason(folder: Path, tmp_path: Path) -> None:
    svg = drawn(folder, tmp_path / "curve.svg", "timm/m0")
    texts = {text.text for text in ElementTree.fromstring(svg).iter(f"{SVG}text")}
    legend = ("extern_kernel (1 ops, +1 kernels)", "no_shared_data (1 ops, +2 kernels)")
    assert "falls: stored or fused otherwise (1 ops, -1 kernels)" in texts
    assert texts >= {*legend, "extern_producer (1 ops, +1 kernels)", "fusible range, with its number of ops"}
    assert "range too long to be fusible" not in texts


def test_a_page_holds_the_picture_whole(folder: Path, tmp_path: Path) -> None:
    svg, page = (drawn(folder, tmp_path / name, "timm/m0") for name in ("curve.svg", "curve.html"))
    assert page.startswith("<!doctype html>") and svg in page


def test_the_same_curve_gives_the_same_file(folder: Path, tmp_path: Path) -> None:
    assert drawn(folder, tmp_path / "a.svg", "timm/m0") == drawn(folder, tmp_path / "b.svg", "timm/m0")


@pytest.mark.parametrize("kernels", [[None] * 150, [1] * 40, [0] * 5, [*range(75), *[None] * 75]])
def test_curves_with_nothing_to_step_are_drawn_too(tmp_path: Path, kernels: list[int | None]) -> None:
    names = ["$x$ <op>"] * len(kernels)
    plot_curve("$a$ & <b>", Curve(names, kernels, [], True), tmp_path / "curve.svg")
    assert len(tips_of((tmp_path / "curve.svg").read_text())) == len(kernels)


def test_a_range_that_is_too_long_is_called_so() -> None:
    curve = Curve(["relu"] * 36, [1] * 36, [Step(0, 1, "no_candidate", "shares no buffer", None)], True)
    assert op_tip(curve, 35) == "op 35 relu\nK(36) = 1\nrange too long to be fusible: ops 0 to 35"


@given(st.lists(st.integers(0, 2), max_size=300))
def test_rows_hold_each_op_once_and_cut_no_range_that_fits(rises: list[int]) -> None:
    kernels = [sum(rises[: op + 1]) for op in range(len(rises))]
    rows = rows_of(len(kernels), find_plateaus(kernels))
    assert [op for row in rows for op in range(*row)] == list(range(len(kernels)))
    assert all(0 < end - start <= 70 for start, end in rows)
    ranges = [plateau for plateau in find_plateaus(kernels) if not plateau.is_too_long]
    assert not any(found.start < end < found.end for _, end in rows for found in ranges)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["timm/m0", "--target", "cpu"], "no curve of timm/m0 for cpu; make it: passnet curves --target cpu --corpus"),
        (["timm/m0", "--target", "cuda:b7"], "unknown target 'cuda:b7'"),
        (["timm/m0", "--target", "cpu,cuda:a30"], "give one"),
        (["timm/m2"], "the curve of timm/m2 failed, curve_failed (cuda:a30 (passnet-kernel-curve/3, torch 2.14.1): no"),
        (["timm/m0", "--out", "x.txt"], "x.txt does not end like a picture; use one of .html, .pdf, .png, .svg"),
        (["timm/m0", "--out", "nowhere/x.html"], "nowhere is not a folder"),
        (["timm/nobody"], "no graph or model"),
    ],
)
def test_bad_input_is_one_line(
    folder: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], said: str
) -> None:
    assert run(["plot", "curve", *arguments, "--corpus", str(folder)]) == 2
    captured = capsys.readouterr()
    assert captured.out == "" and captured.err.count("\n") == 1 and said in captured.err


def test_a_graph_of_too_many_ops_is_refused_before_it_is_drawn(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with Corpus.create(tmp_path / "corpus") as corpus:
        add_graphs(corpus, [chain(*OPS)])
        add_curve(corpus, "timm/m0", [1] * 3001, "cuda:a30")
    assert run(["plot", "curve", "timm/m0", "--corpus", str(corpus.root), "--out", str(tmp_path / "x.svg")]) == 2
    assert "the graph has 3,001 ops; choose one of at most 3,000" in capsys.readouterr().err
    assert not (tmp_path / "x.svg").exists()
