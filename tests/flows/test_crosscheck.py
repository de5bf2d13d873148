"""`passnet crosscheck` explains each difference, and a model that hangs costs one row."""

import csv
from pathlib import Path

import pyarrow as pa
import pytest

from extract.crosscheck import Crosscheck
from flows.cli import run
from flows.crosscheck_command import shares
from flows.progress import SilentReporter
from storage.corpus import Corpus
from storage.schemas import SCHEMAS
from tasks.crosscheck import CrosscheckRun, WantedModels, compare_models

ODD = "tests.poison.odd_models"
PLACE = "tests/poison/odd_models.py"


@pytest.fixture(scope="module")
def checked(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Folder with crosscheck.csv, and the corpus, of one run over four odd models."""
    folder = tmp_path_factory.mktemp("crosscheck")
    models, out, corpus = folder / "models.txt", folder / "crosscheck.csv", folder / "corpus"
    models.write_text("odd_agree\nodd_value\nodd_compiling\nodd_break\n")
    options = ["--models", str(models), "--import", ODD, "--out", str(out), "--corpus", str(corpus)]
    assert run(["crosscheck", *options]) == 0
    return out, corpus


@pytest.fixture
def rows(checked: tuple[Path, Path]) -> dict[str, dict[str, str]]:
    with checked[0].open(newline="") as lines:
        return {row["model_id"].removeprefix("timm/"): row for row in csv.DictReader(lines)}


def test_equal_traces_have_no_cause_and_equal_bits(rows: dict[str, dict[str, str]]) -> None:
    row = rows["odd_agree"]
    assert (row["equal_graph"], row["equal_output"], row["equal_eager"], row["cause"]) == ("true", "true", "true", "")
    assert (row["conditions"], row["num_breaks"], float(row["max_rel_diff"])) == ("eager", "0", 0.0)


def test_a_model_that_asks_whether_it_is_compiled_is_explained_by_the_line(rows: dict[str, dict[str, str]]) -> None:
    row = rows["odd_compiling"]
    assert (row["cause"], row["conditions"], row["equal_graph"]) == ("branches_on_compiling", "eager_judged", "true")
    assert row["detail"].endswith(f"{PLACE}:29")


@pytest.mark.parametrize(
    ("name", "reason"), [("odd_value", "Data-dependent branching at"), ("odd_break", "Call to `torch._dynamo")]
)
def test_a_break_is_explained_by_its_reason_and_place(rows: dict[str, dict[str, str]], name: str, reason: str) -> None:
    row = rows[name]
    assert (row["cause"], row["equal_graph"], row["equal_output"]) == ("graph_break", "false", "")
    assert reason in row["detail"] and PLACE in row["detail"]
    assert int(row["num_breaks"]) > 0


def test_rows_are_kept_in_the_corpus(checked: tuple[Path, Path]) -> None:
    with Corpus.open(checked[1]) as corpus:
        kept = corpus.read("crosschecks")
    assert kept.num_rows == 4
    assert set(kept.column("torch_version").to_pylist()) != {None}


def test_a_model_that_hangs_costs_one_row() -> None:
    wanted = WantedModels(("timm",), ("base",), ("timm/odd_hang", "timm/no_such_model"))
    kept: list[pa.Table] = []
    compare_models(wanted, CrosscheckRun(10**6, 4.0, (ODD,)), SilentReporter(), kept.append)
    rows = [row for table in kept for row in table.to_pylist()]
    assert [(row["model_id"], row["cause"], row["detail"].partition(":")[0]) for row in rows] == [
        ("timm/odd_hang", "not_compared", "timeout"),
        ("timm/no_such_model", "not_compared", "unknown_model"),
    ]


def test_a_run_that_is_stopped_keeps_what_it_compared() -> None:
    class StopsAtTheThird(SilentReporter):
        num_seen = 0

        def advance(self, model_id: str, failed: bool) -> None:
            self.num_seen += 1
            if self.num_seen == 3:
                raise KeyboardInterrupt

    wanted = WantedModels(("timm",), ("base",), ("timm/no_such_a", "timm/no_such_b", "timm/no_such_c"))
    kept: list[pa.Table] = []
    with pytest.raises(KeyboardInterrupt):
        compare_models(wanted, CrosscheckRun(10**6, 60.0), StopsAtTheThird(), kept.append)
    assert [name for table in kept for name in table.column("model_id").to_pylist()] == list(wanted.names or ())[:2]


def test_no_model_compared_is_found_wrong(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "list.txt").write_text("no_such_model\n")
    assert run(["crosscheck", "--models", str(tmp_path / "list.txt")]) == 1
    told = capsys.readouterr()
    assert "unknown_model" in told.out
    assert told.err.splitlines()[-1] == "passnet: no model could be compared; see the column detail"


def test_shares_are_of_the_models_that_were_compared() -> None:
    nothing = dict.fromkeys(SCHEMAS["crosschecks"].names)
    equal = {**nothing, "equal_graph": True, "equal_ops": True, "conditions": "eager"}
    other = {**nothing, "equal_graph": False, "equal_ops": True, "conditions": "eager", "cause": "graph_break"}
    dropped = {**nothing, "cause": "not_compared"}
    told = shares([equal, other, dropped])
    assert told[1:5] == [
        ("compared", 2, "100.0%"),
        ("equal graph", 1, "50.0%"),
        ("first equal under eager", 1, "50.0%"),
        ("equal structure", 0, "0.0%"),
    ]
    assert ("equal ops", 2, "100.0%") in told


def test_the_table_has_the_fields_of_the_record() -> None:
    fields = set(Crosscheck.__dataclass_fields__)
    assert set(SCHEMAS["crosschecks"].names) == fields | {"run_id", "torch_version", "at"}


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--source", "nowhere"], "unknown source 'nowhere'"),
        (["--models", "no/such/list.txt"], "there is no model list"),
        (["--out", "rows.xlsx"], "neither .parquet nor .csv"),
        (["--out", "no/such/folder/rows.csv"], "there is no folder"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(
    options: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["crosscheck", *options]) == 2
    err = capsys.readouterr().err
    assert said in err and len(err.splitlines()) == 1


def test_a_folder_as_out_is_refused_before_anything_is_traced(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "out.csv").mkdir()
    assert run(["crosscheck", "--limit", "1", "--out", str(tmp_path / "out.csv")]) == 2
    captured = capsys.readouterr()
    assert captured.err.count("\n") == 1 and "cannot be written" in captured.err
    assert list(tmp_path.iterdir()) == [tmp_path / "out.csv"]
