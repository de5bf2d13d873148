"""`passnet report profile`: one page that needs nothing else, with the views' figures beside the paper's."""

from __future__ import annotations

import re
import subprocess
import sys
from html import unescape
from pathlib import Path
from xml.etree import ElementTree

import pytest

from flows.cli import run
from flows.profile_page import render_page
from flows.profile_report import read_report
from flows.profile_tables import TABLES, written
from storage.corpus import Corpus
from storage.queries import PROFILE_VIEWS
from storage.timing_records import timing_tables
from tests.storage.profile_corpus import A30, CASES, CPU, ENVIRONMENTS, profile_run, timing, write_profiles
from tests.storage.sample_traces import batch, small_trace

ROOT = Path(__file__).resolve().parents[2]
_LINE = re.compile(r"<tr><td>(.*?)</td>(.*?)</tr>")


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    return write_profiles(tmp_path_factory.mktemp("profiles") / "corpus")


@pytest.fixture(scope="module")
def page(corpus: Corpus) -> str:
    return render_page(read_report(corpus))


def cells_of(page: str, view: str, label: str) -> list[str]:
    """Return the main number of each cell in a table's line, the paper's first."""
    section = page[page.index(f'<section id="{view}">') :]
    section = section[: section.index("</section>")]
    lines = {unescape(name): cells for name, cells in _LINE.findall(section)}
    cells = re.findall(r"<td[^>]*>(.*?)</td>", lines[label])
    return [re.sub(r"<[^>]*>", "", cell.split("<small>")[0]).replace("\N{NO-BREAK SPACE}", " ") for cell in cells]


def test_the_page_is_well_formed_and_names_nothing_outside_itself(page: str) -> None:
    root = ElementTree.fromstring(page.partition("\n")[2])
    assert not {element.tag.rpartition("}")[2] for element in root.iter()} & {
        "script",
        "link",
        "img",
        "image",
        "iframe",
    }
    identifiers = [element.get("id") for element in root.iter() if element.get("id")]
    assert len(set(identifiers)) == len(identifiers)
    for element in root.iter():
        for name, value in element.attrib.items():
            if name.rpartition("}")[2] in ("href", "src"):
                assert value.startswith("#") and value[1:] in identifiers, value
            for target in re.findall(r"url\(([^)]*)\)", value):
                assert target[1:] in identifiers, target
    named = set(re.findall(r"""https?://[^"'\s<>]*""", page))
    assert named == {"http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"}  # names of vocabularies, not fetched
    assert "@import" not in page


def test_equal_rows_give_an_equal_page(corpus: Corpus, page: str) -> None:
    assert render_page(read_report(corpus)) == page


def test_figures_stand_beside_the_papers(page: str) -> None:
    assert cells_of(page, "profile_headline", "slower end to end") == ["43.0 %", "66.7 %", "66.7 %"]
    assert cells_of(page, "profile_headline", "kernels slower") == ["8.3 %", "22.2 %", "\N{EN DASH}"]
    assert cells_of(page, "profile_slowdowns", "small graph") == ["61.5 %", "33.3 %", "50.0 %"]
    assert cells_of(page, "profile_speedups", "kernel <1.0")[:2] == ["8.3 %", "22.2 %"]
    assert cells_of(page, "profile_bad_by_size", "1-5")[:2] == ["85.8 %", "100.0 %"]
    assert cells_of(page, "profile_by_family", "resnet")[0].startswith("2.00"), "no column where the paper says nothing"
    assert "appendix G Numerical Precision, line 476" in page


def test_every_view_that_has_figures_has_a_table(page: str) -> None:
    made_of = {"profile_latest", "profile_instances", "profile_pairs", "profile_roofline"}
    named = set(re.findall(r'<section id="(profile_\w+)">', page))
    assert named | {"profile_histogram"} == set(PROFILE_VIEWS) - made_of
    assert {table.view for table in TABLES} < named


def test_what_is_missing_is_said(tmp_path: Path, page: str) -> None:
    assert "No CUDA timings" not in page
    assert "No peaks of Xeon are known" in page
    assert "No peaks of NVIDIA A30" not in page
    on_cpu = render_page(read_report(write_profiles(tmp_path / "corpus", (CPU,))))
    assert "No CUDA timings: kernel speedups are null" in on_cpu
    assert "1 of 12 under Xeon, inductor, cold" in on_cpu


def test_a_corpus_with_eager_alone_has_a_page(tmp_path: Path) -> None:
    with Corpus.create(tmp_path / "corpus") as corpus:
        tables = timing_tables([timing(CASES[0], "eager", A30)], [ENVIRONMENTS[A30]], [profile_run(A30)])
        corpus.commit(corpus.stage(tables, "run-1"), "run-1")
    page = render_page(read_report(corpus))
    ElementTree.fromstring(page.partition("\n")[2])
    assert "No backend beside eager was timed" in page
    assert cells_of(page, "profile_success", "instances tried") == ["9,526", "1"]


def test_names_from_the_corpus_are_escaped(tmp_path: Path) -> None:
    with Corpus.create(tmp_path / "corpus") as corpus:
        rows = [timing(CASES[0], backend, A30) for backend in ("eager", "<b>&co")]
        corpus.commit(corpus.stage(timing_tables(rows, [ENVIRONMENTS[A30]], [profile_run(A30)]), "run-1"), "run-1")
    page = render_page(read_report(corpus))
    ElementTree.fromstring(page.partition("\n")[2])
    assert "<b>&co" not in page and "&lt;b&gt;&amp;co" in page


def test_the_command_writes_the_page(corpus: Corpus, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "report.html"
    assert run(["report", "profile", "--corpus", str(corpus.root), "--out", str(out)]) == 0
    assert f"written to {out}" in capsys.readouterr().out
    assert out.read_text(encoding="utf-8").startswith("<!DOCTYPE html>\n<html")


def test_usage_errors_are_one_line(corpus: Corpus, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with Corpus.create(tmp_path / "untimed") as untimed:
        untimed.commit(untimed.stage(batch([small_trace("a")]), "run"), "run")
    for root, out, words in (
        (untimed.root, tmp_path / "report.html", "holds no timings; run `passnet profile --corpus"),
        (corpus.root, tmp_path / "report.pdf", "does not end like a page"),
        (corpus.root, tmp_path / "absent" / "report.html", "is not a folder"),
    ):
        assert run(["report", "profile", "--corpus", str(root), "--out", str(out)]) == 2
        told = capsys.readouterr()
        assert told.out == "" and told.err.count("\n") == 1 and words in told.err
        assert not out.exists()


def test_the_report_loads_neither_torch_nor_prefect(corpus: Corpus, tmp_path: Path) -> None:
    arguments = ["report", "profile", "--corpus", str(corpus.root), "--out", str(tmp_path / "report.html")]
    script = f"""
import sys
from flows.cli import run
code = run({arguments!r})
print(code, sorted({{"torch", "prefect", "timm", "transformers"}} & set(sys.modules)), file=sys.stderr)
"""
    told = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert told.stderr == "0 []\n"


def test_numbers_are_written_for_people() -> None:
    dash, times, space = "\N{EN DASH}", "\N{MULTIPLICATION SIGN}", "\N{NO-BREAK SPACE}"
    assert written(None, "share") == dash
    assert written(0.0834, "share") == f"8.3{space}%"
    assert [written(value, "factor") for value in (0.05, 0.684, 12.34, 1234.5)] == [
        f"0.050{times}", f"0.68{times}", f"12.3{times}", f"1,234{times}",
    ]  # fmt: skip
    assert (written(8021, "count"), written(9.0, "number"), written(0.0134, "number")) == ("8,021", "9", "0.013")
    assert written(0.0, "us") == f"0{space}\N{MICRO SIGN}s"
    assert written(140.0, "us") == f"140{space}\N{MICRO SIGN}s"


def test_the_docs_name_every_view_and_its_columns(corpus: Corpus) -> None:
    text = (ROOT / "docs" / "profiles.md").read_text(encoding="utf-8")
    documented = dict(re.findall(r"^## `(profile_\w+)`$.*?^Columns: (.*?)\.$", text, re.MULTILINE | re.DOTALL))
    assert list(documented) == list(PROFILE_VIEWS)
    with corpus.connect() as connection:
        for view, columns in documented.items():
            described = connection.execute(f"DESCRIBE {view}").fetchall()
            assert re.findall(r"`(\w+)`", columns) == [row[0] for row in described], view
