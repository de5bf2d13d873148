"""`passnet show` and `export` of instances, and of what became of a subgraph."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from extract.hashing import signature_sha256
from extract.sample import FILE_NAMES, read_sample
from flows.cli import run
from mining.instance import instance_sha256
from storage.corpus import Corpus
from storage.fsck import fsck
from tests.storage.generalized_corpus import MODEL, make_generalized, rows_of
from tests.storage.test_damage import rewrite

VARIED = "SELECT instance_sha256 FROM instances WHERE shape_config = 9 AND dtype = 'bfloat16'"
OWN = "SELECT instance_sha256 FROM instances WHERE shape_config = 0 AND dtype = 'float32'"


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    return make_generalized(tmp_path_factory.mktemp("generalized") / "corpus")


@pytest.fixture(autouse=True)
def wide(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tables cut no hash, whatever the width that a runner of tests sets."""
    monkeypatch.setenv("COLUMNS", "200")


def named(corpus: Corpus, query: str) -> str:
    ((name,),) = rows_of(corpus, query)
    return name


def shown(capsys: pytest.CaptureFixture[str], corpus: Corpus, *arguments: str) -> str:
    assert run(["show", *arguments, "--corpus", str(corpus.root)]) == 0
    return capsys.readouterr().out


def test_an_instance_is_shown_with_its_facts_operands_and_program(
    corpus: Corpus, capsys: pytest.CaptureFixture[str]
) -> None:
    name = named(corpus, VARIED)
    ((num_bytes, num_flop, sizes),) = rows_of(
        corpus,
        "SELECT num_bytes, num_flop, sizes FROM instances JOIN variants USING (model_id, shape_config, dtype) "
        "WHERE instance_sha256 = ?",
        name,
    )
    out = shown(capsys, corpus, name[:14])
    facts = dict(re.findall(r"^  (\S.*?)   +(\S.*?) *$", out.partition("operands\n")[0], re.MULTILINE))
    assert facts["instance_sha256"] == name
    assert facts["model"] == MODEL
    assert facts["shape config"].startswith("9 of table image")
    assert facts["sizes"] == f"batch={sizes['batch']} height={sizes['height']} width={sizes['width']}"
    assert facts["bytes moved at least"].startswith(f"{num_bytes:,} (")
    assert facts["FLOP"] == f"{num_flop:,.0f}"
    assert float(facts["arithmetic intensity"].split()[0]) == pytest.approx(num_flop / num_bytes, rel=0.01)
    first = f"({sizes['batch']}, "
    assert re.search(rf"^  in_\d+ +input +bfloat16 +{re.escape(first)}", out, re.MULTILINE)
    assert re.search(rf" = .*  # in_\d+ bfloat16\[{sizes['batch']}, ", out)
    assert "->" not in out


def test_what_calls_return_is_shown_where_it_is_known(corpus: Corpus, capsys: pytest.CaptureFixture[str]) -> None:
    out = shown(capsys, corpus, named(corpus, OWN))
    statements = [line for line in out.splitlines() if line.startswith("        ") and " = " in line]
    assert statements and all("-> float32[" in line for line in statements)


def test_a_subgraph_is_shown_with_what_became_of_it(corpus: Corpus, capsys: pytest.CaptureFixture[str]) -> None:
    out = shown(capsys, corpus, named(corpus, "SELECT subgraph_sha256 FROM generalizations"))
    assert "class GraphModule" in out
    for (name,) in rows_of(corpus, "SELECT instance_sha256 FROM instances"):
        assert name[:16] in out
    ((count,),) = rows_of(corpus, "SELECT count(*) FROM missing_instances")
    assert re.search(rf"^  over_max_bytes +{count} +moves", out, re.MULTILINE)
    ((axes, expressions, constraints),) = rows_of(corpus, "SELECT axes, expressions, constraints FROM generalizations")
    assert f" {', '.join(axes)} " in out
    assert expressions and constraints
    for entry in expressions:
        assert re.search(rf"^  {re.escape(entry['place'])} +{re.escape(entry['expression'])} *$", out, re.MULTILINE)
    assert all(re.search(rf"^  {re.escape(text)} *$", out, re.MULTILINE) for text in constraints)


def test_a_subgraph_that_was_not_generalized_says_how(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bare = make_generalized(tmp_path / "corpus")
    for table in ("generalizations", "instances", "missing_instances"):
        rewrite(bare, table, bare.read(table).slice(0, 0))
    name = named(bare, "SELECT DISTINCT subgraph_sha256 FROM occurrences")
    assert f"not generalized as yet: passnet generalize --corpus {bare.root}" in shown(capsys, bare, name)


def test_a_prefix_of_several_instances_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    alike = make_generalized(tmp_path / "corpus")
    rows = alike.read("instances").slice(0, 2)
    place = rows.schema.get_field_index("instance_sha256")
    rewrite(alike, "instances", rows.set_column(place, rows.schema.field(place), [[f"{'f' * 63}{n}" for n in (0, 1)]]))
    for command in (["show", "f" * 20], ["export", "f" * 20, str(tmp_path / "out")]):
        assert run([*command, "--corpus", str(alike.root)]) == 2
        told = capsys.readouterr().err
        assert "means 2 instances" in told and told.count("\n") == 1


def test_a_damaged_recipe_is_one_line_and_nothing_is_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    damaged = make_generalized(tmp_path / "corpus")
    rows = damaged.read("instances")
    place = rows.schema.get_field_index("overrides")
    changed = rows.set_column(place, rows.schema.field(place), [["[]"] * rows.num_rows])
    rewrite(damaged, "instances", changed)
    name = named(damaged, VARIED)
    for command in (["show", name], ["export", name, str(tmp_path / "out")]):
        assert run([*command, "--corpus", str(damaged.root)]) == 1
        told = capsys.readouterr()
        assert "cannot be rendered" in told.err and "it is damaged" in told.err and told.err.count("\n") == 1
        assert told.out == ""
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("query", [VARIED, OWN], ids=["varied", "own"])
def test_an_exported_instance_is_read_back_as_the_same_program(corpus: Corpus, tmp_path: Path, query: str) -> None:
    name = named(corpus, query)
    out = tmp_path / "out"
    assert run(["export", name[:14], str(out), "--corpus", str(corpus.root)]) == 0
    assert sorted(path.name for path in out.iterdir()) == sorted([*FILE_NAMES, "subgraph_sources.json"])
    graph = read_sample(out)
    assert instance_sha256(signature_sha256(graph)) == name
    assert all(node.outputs for node in graph.nodes)
    ((start, end),) = rows_of(corpus, 'SELECT start, "end" FROM generalizations')
    assert json.loads((out / "subgraph_sources.json").read_text()) == {MODEL: [[start, end]]}
    assert run(["import", "--corpus", str(tmp_path / "after"), "--workers", "1", str(out)]) == 0
    after = Corpus.open(tmp_path / "after")
    ((signature, model_id, domain, dtype),) = rows_of(
        after,
        "SELECT signature_sha256, model_id, graphs.domain, dtype FROM graphs "
        "JOIN graph_sources USING (signature_sha256) JOIN samples USING (model_id) WHERE is_ours",
    )
    assert instance_sha256(signature) == name
    assert model_id == f"import/{MODEL}/instance_{name[:16]}"
    assert domain == "cv"
    assert dtype == graph.tensors[0].dtype
    ((parameters,),) = rows_of(after, "SELECT num_parameters FROM models")
    assert 0 < parameters < rows_of(corpus, "SELECT num_parameters FROM models")[0][0]
    assert json.loads(named(after, "SELECT subgraph_sources FROM samples")) == {MODEL: [[start, end]]}
    assert fsck(after, deep=True) == []


def test_reading_instances_loads_neither_torch_nor_prefect(corpus: Corpus) -> None:
    names = [named(corpus, VARIED), named(corpus, "SELECT subgraph_sha256 FROM generalizations")]
    commands = [
        [*command, "--corpus", str(corpus.root)]
        for command in (["show", names[0]], ["show", names[1]], ["fsck", "--deep"])
    ]
    script = f"""
import sys
from flows.cli import run
codes = [run(command) for command in {commands!r}]
print(codes, sorted({{"torch", "prefect", "timm", "transformers"}} & set(sys.modules)), file=sys.stderr)
"""
    told = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert told.stderr == "[0, 0, 0] []\n"


def test_a_subgraph_is_shown_at_any_sizes_that_its_constraints_allow(
    corpus: Corpus, capsys: pytest.CaptureFixture[str]
) -> None:
    query = "SELECT subgraph_sha256 FROM generalizations WHERE expressions IS NOT NULL ORDER BY 1 LIMIT 1"
    out = shown(capsys, corpus, named(corpus, query)[:20], "--at", "batch=13,height=192,width=96")
    assert "def forward" in out
    assert "(13, " in out


@pytest.mark.parametrize(
    ("at", "said"),
    [
        ("batch=13", "no size for height, width; write batch=SIZE,height=SIZE,width=SIZE"),
        ("batch=13,height=97,width=96", "height"),
        ("depth=3", "'depth=3' names no axis"),
        ("batch=0,height=96,width=96", "'0' is no size of 1 to 999,999,999"),
        ("", "--at '': '' names no axis"),
        ("batch=999999999,height=999999968,width=999999968", "an operand would have"),
        ("batch=2,batch=3,height=96,width=96", "batch is given twice"),
        ("batch=1,height=" + "9" * 5000 + ",width=96", "is no size"),
        ("batch=1,height=96,width=96,frames=3", "do not follow from frames"),
    ],
)
def test_sizes_of_which_nothing_is_known_are_refused_in_one_line(
    corpus: Corpus, capsys: pytest.CaptureFixture[str], at: str, said: str
) -> None:
    query = "SELECT subgraph_sha256 FROM generalizations WHERE expressions IS NOT NULL ORDER BY 1 LIMIT 1"
    assert run(["show", named(corpus, query), "--at", at, "--corpus", str(corpus.root)]) == 2
    error = capsys.readouterr().err
    assert said in error
    assert error.count("\n") == 1


def test_sizes_are_for_generalized_subgraphs_alone(corpus: Corpus, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["show", named(corpus, OWN), "--at", "batch=2", "--corpus", str(corpus.root)]) == 2
    assert "means 0 generalized subgraphs" in capsys.readouterr().err
