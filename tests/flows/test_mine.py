"""`passnet mine` as people run it: killed and started again, shown, drawn, counted; bad input is one line."""

from __future__ import annotations

import json
import signal
from pathlib import Path

import pytest

from flows.cli import run
from flows.motifs import boxes_of
from flows.printing import short_ops
from mining.folding import parse
from mining.grammar import Grammar, Pattern
from storage.comparison import comparable_tables
from storage.corpus import Corpus
from storage.grammars import StoredGrammar, grammar_tables, latest_grammar
from tests.flows.test_validate import passnet
from tests.tasks.test_mine import MINED, add_graphs, some_graphs


@pytest.fixture(scope="module")
def mined(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A corpus whose mining was killed before its second commit and run again; beside it `whole`, never killed."""
    folder = tmp_path_factory.mktemp("mined")
    for name in ("corpus", "whole"):
        with Corpus.create(folder / name) as corpus:
            add_graphs(corpus, some_graphs(30))
    options = ("--folds", "6", "--workers", "1")
    killed = passnet("mine", "--corpus", str(folder / "corpus"), *options, PASSNET_FAULT="commit:before_manifest:2")
    assert killed.returncode == -signal.SIGKILL
    for name in ("corpus", "whole"):
        done = passnet("mine", "--corpus", str(folder / name), *options)
        assert done.returncode == 0, done.stderr
        assert "Traceback" not in done.stderr
    return folder / "corpus"


def test_a_killed_run_that_goes_on_gives_what_a_whole_one_gives(mined: Path) -> None:
    found: list[dict[str, object]] = []
    for path in (mined, mined.with_name("whole")):
        with Corpus.open(path) as corpus:
            tables = comparable_tables(corpus)
            found.append({name: tables[name] for name in MINED})
            assert corpus.read("occurrences").num_rows > 20
    assert found[0] == found[1]


def test_a_subgraph_a_single_op_and_a_pattern_are_shown(mined: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with Corpus.open(mined) as corpus, corpus.connect() as connection:
        query = """
            SELECT subgraph_sha256, num_occurrences
            FROM subgraph_support ANTI JOIN graphs ON graph_sha256 = subgraph_sha256  -- of a whole graph show says more
            WHERE kind = ? ORDER BY ALL DESC LIMIT 1
        """
        (classical, places) = connection.execute(query, ["classical"]).fetchall()[0]
        (single_op, _) = connection.execute(query, ["single_op"]).fetchall()[0]
    assert run(["show", classical[:20], "--corpus", str(mined)]) == 0
    shown = capsys.readouterr().out
    assert "def forward(self, x_0" in shown and str(places) in shown and "timm/m" in shown
    assert run(["show", single_op, "--corpus", str(mined)]) == 0
    assert "single_op" in capsys.readouterr().out
    assert run(["show", "#0", "--corpus", str(mined)]) == 0
    assert "expansion" in capsys.readouterr().out


def test_a_pattern_in_a_pipe_is_read_from_the_left_and_fits(
    mined: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with Corpus.open(mined) as corpus, corpus.connect() as connection:
        query = "SELECT symbol, array_to_string(expansion, ' ') FROM patterns ORDER BY length DESC LIMIT 1"
        ((symbol, expansion),) = connection.execute(query).fetchall()
    monkeypatch.setenv("COLUMNS", "40")
    assert run(["show", f"#{symbol}", "--corpus", str(mined)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 40 < len(f"  expansion {expansion}")
    start = next(line for line in lines if "what" in line).index("#")
    (count,) = [line for line in lines if line.startswith("  count")]
    assert count[start - 1] == " " and count[start].isdigit()
    fields = "\n".join(lines).partition("expansion")[2].partition("length")[0]
    assert " ".join(fields.split()) == expansion


def test_a_pattern_out_of_the_bounds_of_a_subgraph_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    patterns = (Pattern(("relu", "mul"), 9), Pattern((0,) * 32, 2))
    with Corpus.create(tmp_path / "corpus") as corpus:
        tables = grammar_tables(StoredGrammar("g", Grammar(patterns)), 1, 2, 64, [["f"], ["f"]])
        corpus.commit(corpus.stage(tables, "learn"), "learn")
    for name, said in (("#0", "shorter than 4 ops"), ("#1", "longer than 62 ops: its parts are mined")):
        assert run(["show", name, "--corpus", str(corpus.root)]) == 0
        assert said in capsys.readouterr().out


def test_stats_have_the_subgraphs_and_the_families_motifs(mined: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["stats", "--json", "--corpus", str(mined)]) == 0
    (parts,) = json.loads(capsys.readouterr().out)
    classical, single_op = parts["subgraphs"]
    assert (classical["kind"], single_op["kind"]) == ("classical", "single_op")
    assert classical["redundancy_frac"] == pytest.approx(1 - classical["structures"] / classical["places"])
    assert {row["family"] for row in parts["motifs"]} <= {"f0", "f1", "f2"}
    assert run(["stats", "--corpus", str(mined)]) == 0
    shown = capsys.readouterr().out
    assert max(map(len, shown.splitlines())) <= 120
    ops = parts["motifs"][0]["top_motif"].split()
    assert f"{' '.join(ops[:3])}" in shown and f"({len(ops)} ops)" in shown


@pytest.mark.parametrize("ending", ["svg", "png"])
def test_motifs_are_drawn(mined: Path, tmp_path: Path, ending: str) -> None:
    picture = tmp_path / f"motifs.{ending}"
    assert run(["plot", "motifs", "timm/m0", "--corpus", str(mined), "--out", str(picture)]) == 0
    assert picture.stat().st_size > 1000


def test_a_legend_names_every_pattern_of_the_picture_by_its_ops(mined: Path, tmp_path: Path) -> None:
    picture = tmp_path / "motifs.svg"
    assert run(["plot", "motifs", "timm/m1", "--corpus", str(mined), "--out", str(picture)]) == 0
    with Corpus.open(mined) as corpus, corpus.connect() as connection:
        stored = latest_grammar(corpus)
        query = "SELECT op_sequence FROM graphs JOIN graph_sources USING (signature_sha256) WHERE model_id = 'timm/m1'"
        ((ops,),) = connection.execute(query).fetchall()
    assert stored is not None
    (parsed,) = parse(stored.grammar, [ops])
    drawn = {box.pattern for box in boxes_of(stored.grammar, parsed)}
    text = picture.read_text()
    assert drawn and all(f"#{pattern} {short_ops(stored.grammar.expansions[pattern])}" in text for pattern in drawn)


def test_many_ops_are_named_by_the_first_ones_and_their_number() -> None:
    assert short_ops(["linear", "gelu"]) == "linear gelu (2 ops)"
    assert short_ops(["linear"] * 10) == "linear linear linear linear linear … (10 ops)"
    assert short_ops(["a" * 60, "relu"]) == f"{'a' * 60} … (2 ops)"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["mine", "--kinds", "fancy"], "unknown kind 'fancy'; choose among classical, single_op"),
        (["mine", "--kinds", ","], "names nothing"),
        (["mine", "--folds", "0"], "--folds"),
        (["show", "#99"], "has no pattern #99"),
        (["show", "#x"], "is no pattern"),
        (["plot", "motifs", "timm/nobody"], "no graph or model"),
        (["plot", "motifs", "timm/m0", "--out", "x.txt"], "does not end like a picture"),
    ],
)
def test_bad_input_is_one_line(
    mined: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], said: str
) -> None:
    assert run([*arguments, "--corpus", str(mined)]) == 2
    captured = capsys.readouterr()
    assert captured.out == "" and captured.err.count("\n") == 1 and said in captured.err


@pytest.mark.slow
def test_a_refresh_mines_what_it_traced(tmp_path: Path) -> None:
    (tmp_path / "models.txt").write_text("test_vit\ntest_vit2\ntest_resnet\n")
    corpus = tmp_path / "corpus"
    done = passnet("refresh", "--models", str(tmp_path / "models.txt"), "--corpus", str(corpus), "--mine")
    assert done.returncode == 0, done.stderr
    assert "corpus: subgraphs" in done.stdout
    assert run(["fsck", "--deep", "--corpus", str(corpus)]) == 0
    with Corpus.open(corpus) as opened:
        assert opened.read("occurrences").num_rows > 3


def test_a_corpus_without_grammar_says_how_to_learn_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with Corpus.create(tmp_path / "corpus") as corpus:
        add_graphs(corpus, some_graphs(2))
    assert run(["plot", "motifs", "timm/m0", "--corpus", str(tmp_path / "corpus")]) == 2
    assert "learn one: passnet mine" in capsys.readouterr().err
