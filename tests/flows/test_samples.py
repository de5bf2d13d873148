"""`passnet export` and `passnet import`: what goes out comes back, and nothing in a sample is ever executed."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pyarrow as pa
import pytest

from extract.graph import Graph, Node, OpRef, TensorMeta, TensorRef
from extract.model_ref import ModelRef, Trace, ValueRead
from extract.sample import FILE_NAMES
from flows.cli import run
from storage.comparison import differences
from storage.corpus import Corpus
from storage.fsck import fsck
from storage.records import trace_tables
from tests.storage.sample_traces import NOW, batch, small_graph, small_trace

FOREIGN = Path(__file__).parents[1] / "extract" / "foreign_samples"
HASHES = ("signature_sha256", "graph_sha256", "structure_sha256")


def _fill(path: Path) -> Corpus:
    """Two models of one program at two widths, and one of two parts with exact integers, NaN and value reads."""
    odd = (
        TensorMeta("ids", "input", "ids", (2,), (1,), "int64", values=(2**60 + 1, -5), stats_source="values"),
        TensorMeta("w", "buffer", "a.w", (2, 2), (1, 2), "float32", float("nan"), 0.1 + 0.2, -0.0, float("inf")),
    )
    graph = Graph((Node("embedding", "torch.nn.functional.embedding", (TensorRef(0), TensorRef(1))),), odd, (OpRef(0),))
    model = ModelRef("transformers/odd", "transformers", family="odd", domain="nlp", licence="mit", inputs=("ids",))
    parts = [
        Trace(model, graph, "function_mode", "real", (ValueRead(0, "item", True),), "2.14.1", 0.1, 0.2),
        Trace(model, small_graph(5), "dynamo", "real", (), "2.14.1", 0.1, 0.2, part=1, break_reason="a break"),
    ]
    with Corpus.create(path) as corpus:
        tables = batch([small_trace("a"), small_trace("wide", 8)])
        more = [trace_tables(part, NOW) for part in parts]
        tables = {name: pa.concat_tables([rows, *(part[name] for part in more)]) for name, rows in tables.items()}
        corpus.commit(corpus.stage(tables, "run"), "run")
    return Corpus.open(path)


def _rows(corpus: Corpus, table: str) -> str:
    keys = [("signature_sha256", "ascending")] + ([("index", "ascending")] if table == "nodes" else [])
    return repr(corpus.read(table).sort_by(keys).to_pylist())  # repr: NaN equals NaN, 1 is not 1.0


def _signature(corpus: Corpus, model_id: str) -> str:
    query = "SELECT signature_sha256 FROM graph_sources WHERE model_id = $id AND part = 0"
    return corpus.connect().execute(query, {"id": model_id}).fetchall()[0][0]


def _import(corpus: Path, *paths: Path) -> int:
    return run(["import", "--corpus", str(corpus), "--workers", "1", *map(str, paths)])


def test_all_that_a_corpus_holds_of_graphs_comes_back(tmp_path: Path) -> None:
    before = _fill(tmp_path / "before")
    assert run(["export", "--corpus", str(before.root), "--all", str(tmp_path / "out")]) == 0
    assert sorted(path.name for path in (tmp_path / "out" / "transformers" / "odd").iterdir()) == [
        "subgraph_0",
        "subgraph_1",
    ]
    assert _import(tmp_path / "after", tmp_path / "out") == 0
    after = Corpus.open(tmp_path / "after")
    for table in ("graphs", "graph_texts", "nodes"):
        assert _rows(after, table) == _rows(before, table)
    models = {row["model_id"]: row for row in after.read("models").to_pylist()}
    assert set(models) == {"import/timm/a", "import/timm/wide", "import/transformers/odd"}
    odd = models["import/transformers/odd"]
    assert (odd["source"], odd["family"], odd["licence"], odd["inputs"]) == ("import", "odd", "mit", ["ids"])
    sources = {(row["model_id"], row["part"]): row for row in after.read("graph_sources").to_pylist()}
    second = sources["import/transformers/odd", 1]
    assert (second["tracer"], second["break_reason"], second["traced_at"]) == ("dynamo", "a break", NOW)
    assert fsck(after, deep=True) == []


def test_importing_again_adds_nothing_and_reads_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = _fill(tmp_path / "before")
    run(["export", "--corpus", str(before.root), "--all", str(tmp_path / "out")])
    _import(tmp_path / "after", tmp_path / "out")
    number = Corpus.open(tmp_path / "after").manifest().number
    shutil.copytree(tmp_path / "out" / "timm" / "a", tmp_path / "elsewhere" / "b")
    capsys.readouterr()
    assert _import(tmp_path / "after", tmp_path / "out") == 0
    shown = capsys.readouterr().out
    assert re.search(r"imported before +4", shown) and re.search(r"imported now +0", shown)
    assert Corpus.open(tmp_path / "after").manifest().number == number
    _import(tmp_path / "after", tmp_path / "elsewhere")  # the same graph, under the name that it carries
    assert Corpus.open(tmp_path / "after").manifest().number == number


def test_two_programs_of_one_name_are_kept_apart(tmp_path: Path) -> None:
    corpus = _fill(tmp_path / "before")
    for name in ("a", "wide"):
        run(["export", "--corpus", str(corpus.root), f"timm/{name}", str(tmp_path / name)])
        path = tmp_path / name / "graph_net.json"
        path.write_text(json.dumps(json.loads(path.read_text()) | {"model_name": "same"}))
    _import(tmp_path / "after", tmp_path / "a", tmp_path / "wide")
    ids = Corpus.open(tmp_path / "after").read("graph_sources").column("model_id").to_pylist()
    assert sorted(ids) == ["import/same", f"import/same@{_signature(corpus, 'timm/wide')[:8]}"]


def test_a_hash_prefix_exports_one_graph(tmp_path: Path) -> None:
    corpus = _fill(tmp_path / "corpus")
    signature = _signature(corpus, "timm/wide")
    assert run(["export", "--corpus", str(corpus.root), signature[:12], str(tmp_path / "out")]) == 0
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == sorted(FILE_NAMES)
    facts = json.loads((tmp_path / "out" / "graph_net.json").read_text())
    assert facts["passnet"]["signature_sha256"] == signature and facts["model_name"] == "timm/wide"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["{graph}", "{out}"], "means 3 graphs"),
        (["nothing", "{out}"], "no graph, instance or model"),
        (["timm/a"], "give HASH and PATH"),
        (["timm/a", "{out}", "--all"], "give the folder alone"),
        (["timm/a", "{full}"], "is not empty"),
        (["timm/a", "{file}"], "is no folder"),
    ],
)
def test_a_mistaken_export_says_so_in_one_line_and_writes_nothing(
    arguments: list[str], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    corpus = _fill(tmp_path / "corpus")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine.txt").touch()
    (tmp_path / "file").touch()
    query = "SELECT graph_sha256 FROM graphs GROUP BY 1 HAVING count(*) > 1"
    names = {name: str(tmp_path / name) for name in ("out", "full", "file")}
    names["graph"] = corpus.connect().execute(query).fetchall()[0][0][:20]
    listed = sorted(tmp_path.iterdir())
    assert run(["export", "--corpus", str(corpus.root), *(argument.format(**names) for argument in arguments)]) == 2
    told = capsys.readouterr().err.strip().splitlines()
    assert len(told) == 1 and said in told[0]
    assert sorted(tmp_path.iterdir()) == listed


def test_an_import_without_samples_is_a_mistake(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "empty").mkdir()
    for path, said in ((tmp_path / "empty", "no sample"), (tmp_path / "absent", "is not a folder")):
        assert _import(tmp_path / "corpus", path) == 2
        assert said in capsys.readouterr().err
    assert not (tmp_path / "corpus").exists()


def test_every_foreign_sample_is_imported_and_goes_out_as_it_came(tmp_path: Path) -> None:
    assert _import(tmp_path / "corpus", FOREIGN) == 0
    corpus = Corpus.open(tmp_path / "corpus")
    samples = {row["imported_from"]: row for row in corpus.read("samples").to_pylist()}
    assert len(samples) == sum(1 for _ in FOREIGN.rglob("model.py")) >= 30
    assert corpus.read("failures").num_rows == 0 and fsck(corpus, deep=True) == []
    assert samples["symint_arguments"]["symbols"] == '{"s0": 2}'
    unknown = samples["unknown_keys"]
    assert unknown["model_id"] == "import/some_org/Model_v2"
    query = 'SELECT DISTINCT "constraint", outcome, level, reason FROM constraints'
    assert corpus.connect().execute(query).fetchall() == [("runnable", "failed", "fake", "op_not_allowed")]

    assert run(["export", "--corpus", str(corpus.root), unknown["model_id"], str(tmp_path / "out")]) == 0
    theirs = FOREIGN / "unknown_keys"
    for name in ("graph_hash.txt", "subgraph_sources.json"):
        assert (tmp_path / "out" / name).read_text() == (theirs / name).read_text()
    facts = json.loads((tmp_path / "out" / "graph_net.json").read_text())
    stated = json.loads((theirs / "graph_net.json").read_text())
    assert repr({key: facts[key] for key in stated}) == repr(stated)
    parts = [row["part"] for row in corpus.read("samples").to_pylist() if row["model_id"] == "import/two_graphs"]
    assert sorted(parts) == [0, 1]


_GOOD_META = (FOREIGN / "fft" / "weight_meta.py").read_text()


def _plant(folder: Path, model_py: str, weight_meta: str = _GOOD_META) -> None:
    folder.mkdir(parents=True)
    (folder / "model.py").write_text(model_py)
    (folder / "weight_meta.py").write_text(weight_meta)


def test_hostile_samples_cost_a_row_each_and_do_nothing(tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    write = f"open({str(mark)!r}, 'w').write('x')"
    forward = "class GraphModule:\n    def forward(self, x):\n        "
    planted = tmp_path / "planted"
    _plant(planted / "writes_at_import", f"{write}\n{forward}return torch.relu(x)\n")
    _plant(
        planted / "writes_in_default", f"class GraphModule:\n    def forward(self, x, y={write}):\n        return x\n"
    )
    _plant(planted / "writes_in_forward", f"{forward}{write}\n        return x\n")
    _plant(planted / "writes_in_meta", f"{forward}return torch.relu(x)\n", f"{write}\n{_GOOD_META}")
    _plant(planted / "writes_in_class", f"{forward}return x\n", _GOOD_META.replace("data = None", f"data = {write}"))
    sleeping = f"import time\ntime.sleep(1e9)\n{forward}return torch.relu(x)\n"
    _plant(planted / "sleeps", sleeping, "while True: pass\n" + _GOOD_META)
    _plant(planted / "spins_at_replay", f"{forward}y = torch.utils.data.get_worker_info()\n        return x\n")
    allocating = f"big = bytearray(10**11)\n{forward}return torch.relu(x)\n"
    _plant(planted / "allocates_at_import", allocating, "x = [0] * 10**11\n" + _GOOD_META)
    zeros = "y = torch.zeros(25_000_000_000)\n        z = y.cpu().clone()\n        return (x, z)\n"
    _plant(planted / "allocates_at_replay", forward + zeros)
    _plant(planted / "allocates_number", f"{forward}y = 7 ** 7 ** 7 ** 7 ** 7\n        return x.view(y)\n")
    _plant(planted / "loads", f"{forward}y = torch.load({str(mark)!r})\n        return (x, y)\n")
    _plant(planted / "loads_library", f"{forward}y = torch.ops.load_library('/tmp/x.so')\n        return (x, y)\n")
    _plant(planted / "saves", f"{forward}y = torch.save(x, {str(mark)!r})\n        return x\n")
    _plant(planted / "to_file", f"{forward}y = torch.from_file({str(mark)!r}, True, 4)\n        return (x, y)\n")
    _plant(planted / "runs_ops", f"{forward}y = operator.methodcaller('tofile', {str(mark)!r})(x)\n        return x\n")
    _plant(planted / "deep", f"{forward}return {'torch.neg(' * 190}x{')' * 190}\n")
    _plant(planted / "no_python", "\x00\x01")
    (planted / "no_model").mkdir()
    (planted / "no_model" / "weight_meta.py").write_text(_GOOD_META)
    (planted / "not_utf8").mkdir()
    (planted / "not_utf8" / "model.py").write_bytes(b"\xff\xfe")
    secret = tmp_path / "secret"
    _plant(secret, f"{forward}return torch.cos(x)\n")
    (planted / "linked").symlink_to(secret)
    (planted / "linked_file").mkdir()
    (planted / "linked_file" / "model.py").symlink_to(secret / "model.py")
    (planted / "linked_file" / "weight_meta.py").write_text(_GOOD_META)
    (planted / "pipe").mkdir()
    os.mkfifo(planted / "pipe" / "model.py")
    (planted / "traversal").mkdir()
    _plant(planted / "traversal" / "good", f"{forward}return torch.sin(x)\n")
    (planted / "traversal" / "good" / "graph_net.json").write_text('{"model_name": "../../../../escape"}')

    started = time.monotonic()
    assert _import(tmp_path / "corpus", planted) == 1  # more than a fifth failed
    assert time.monotonic() - started < 60 and not mark.exists()
    corpus = Corpus.open(tmp_path / "corpus")
    reasons = {row["subject"].removeprefix("import/"): row["reason"] for row in corpus.read("failures").to_pylist()}
    assert reasons == {
        "writes_at_import": "text_unreadable",
        "sleeps": "text_unreadable",
        "loads_library": "text_unreadable",
        "writes_in_forward": "text_unreadable",
        "writes_in_default": "metadata_unreadable",
        "writes_in_class": "metadata_unreadable",
        "runs_ops": "text_unreadable",
        "allocates_number": "metadata_unreadable",
        "deep": "text_unreadable",
        "no_python": "text_unreadable",
        "no_model": "sample_incomplete",
        "not_utf8": "text_unreadable",
        "linked_file": "sample_incomplete",
        "pipe": "sample_incomplete",
    }
    samples = {row["imported_from"]: row["model_id"] for row in corpus.read("samples").to_pylist()}
    assert samples["traversal/good"] == "import/escape"
    unread = {*reasons, "linked", "traversal"}
    assert set(samples) == {path.name for path in planted.iterdir()} - unread | {"traversal/good"}
    query = "SELECT DISTINCT reason FROM constraints"
    assert corpus.connect().execute(query).fetchall() == [("op_not_allowed",)]
    assert not mark.exists()


def test_a_bad_part_of_a_model_leaves_the_others(tmp_path: Path) -> None:
    forward = "class GraphModule:\n    def forward(self, x):\n        "
    for part, body in enumerate(("return torch.sin(x)", "return open('x')", "return torch.cos(x)")):
        _plant(tmp_path / "tree" / "net" / f"subgraph_{part}", forward + body + "\n")
    assert (
        run(["import", "--corpus", str(tmp_path / "corpus"), "--max-failed-frac", "0.5", f"{tmp_path / 'tree'}"]) == 0
    )
    corpus = Corpus.open(tmp_path / "corpus")
    sources = corpus.read("graph_sources", ["model_id", "part"]).to_pylist()
    assert sorted((row["model_id"], row["part"]) for row in sources) == [("import/net", 0), ("import/net", 2)]
    (failure,) = corpus.read("failures").to_pylist()
    assert (failure["subject"], failure["step"]) == ("import/net/subgraph_1", "import")
    (tmp_path / "tree" / "net" / "subgraph_1" / "model.py").write_text(forward + "return torch.tan(x)\n")
    run(["import", "--corpus", str(tmp_path / "corpus"), str(tmp_path / "tree")])
    assert corpus.connect().execute("SELECT count(*) FROM current_failures").fetchall() == [(0,)]


_IMPORT_IN_SMALL_COMMITS = """
import sys
from pathlib import Path
from storage.corpus import Corpus
from storage.sample_folders import find_samples
from tasks.import_samples import ImportRun, import_samples
with Corpus.create(sys.argv[1]) as corpus:
    run = ImportRun(batch_samples=3)
    print("ready", flush=True)
    import_samples(corpus, list(find_samples(Path(sys.argv[2]))), run, lambda place, failed: print(place, flush=True))
"""


@pytest.mark.slow
def test_an_import_killed_again_and_again_ends_as_one_that_was_not(tmp_path: Path) -> None:
    command = [sys.executable, "-c", _IMPORT_IN_SMALL_COMMITS, str(tmp_path / "killed"), str(FOREIGN)]
    for num_lines in (2, 6, 9, 13):
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            for _, _line in zip(range(num_lines), process.stdout, strict=False):
                pass
            process.kill()
        Corpus.open(tmp_path / "killed")
    assert 0 < Corpus.open(tmp_path / "killed").manifest().rows("samples") < 31
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    _import(tmp_path / "whole", FOREIGN)
    killed, whole = Corpus.open(tmp_path / "killed"), Corpus.open(tmp_path / "whole")
    assert differences(killed, whole) == [] and fsck(killed, deep=True) == []


def test_odd_folders_cost_nothing_else(tmp_path: Path) -> None:
    forward = "class GraphModule:\n    def forward(self, x):\n        return torch."
    top = tmp_path / "top"
    for name, op in (("good", "sin"), ("net/subgraph_0", "cos"), ("net/subgraph_00", "tan")):
        (top / name).parent.mkdir(parents=True, exist_ok=True)
        _plant(top / name, f"{forward}{op}(x)\n")
    (top / "folder" / "model.py").mkdir(parents=True)
    (top / "folder" / "weight_meta.py").write_text(_GOOD_META)
    odd = Path(os.fsdecode(os.fsencode(top) + b"/n\xff"))
    odd.mkdir()
    (odd / "weight_meta.py").write_text(_GOOD_META)
    _import(tmp_path / "corpus", top)
    corpus = Corpus.open(tmp_path / "corpus")
    failures = {row["subject"]: row["reason"] for row in corpus.read("failures").to_pylist()}
    assert failures == {"import/folder": "sample_incomplete", "import/n\\xff": "sample_incomplete"}
    places = corpus.read("samples", ["imported_from"]).column(0).to_pylist()
    assert sorted(places) == ["good", "net/subgraph_0", "net/subgraph_00"]
