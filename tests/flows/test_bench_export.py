"""`passnet bench export` and `show`: directories that give the tasks back, and refusals before anything is written."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
import typer

from extract.foreign_sample import read_sample_files
from extract.graph import Graph
from extract.recorded_outputs import record_outputs
from extract.sample import FILE_NAMES
from extract.text import render
from flows.bench_export import export, export_tasks, show
from flows.cli import run
from passbench.task_readme import EXAMPLE_NAME, PASS_LIST
from profiles.comparison import tolerance
from storage.bench_tasks import load_task
from storage.corpus import Corpus
from storage.errors import UsageError
from storage.sample_folders import find_samples, read_files
from storage.task_folders import task_files, writing_below
from tests.storage.task_corpus import DTYPES, ONE, SHAPES, copy_of, make_tasks, members_of
from tests.storage.test_damage import rewrite

ROOT = Path(__file__).resolve().parents[2]
app = typer.Typer(pretty_exceptions_enable=False)
app.command()(export)
app.command()(show)


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    return make_tasks(tmp_path_factory.mktemp("tasks") / "corpus")


@pytest.fixture(scope="module")
def exported(corpus: Corpus, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("exported") / "tasks"
    assert call("export", "--corpus", str(corpus.root), "--out", str(out)) is None
    return out


def call(*arguments: str) -> Any:
    return app(list(arguments), standalone_mode=False)


def folder_of(out: Path, task_id: str) -> Path:
    (folder,) = out.glob(f"*/*/{task_id[:16]}")
    return folder


def told(out: Path, task_id: str) -> dict[str, Any]:
    return json.loads((folder_of(out, task_id) / "task.json").read_text())


def read_back(folder: Path) -> Graph:
    sample = read_sample_files({name: text.decode() for name, text in read_files(folder).items()}, "")
    assert sample.is_ours
    return sample.graph


def test_each_task_lies_by_split_and_kind_with_all_its_files(corpus: Corpus, exported: Path) -> None:
    places = {f"eval/classical/{SHAPES[:16]}", f"train/classical/{DTYPES[:16]}", f"train/single_op/{ONE[:16]}"}
    assert {str(path.relative_to(exported)) for path in exported.glob("*/*/*")} == places
    for task_id in (SHAPES, DTYPES, ONE):
        folder = folder_of(exported, task_id)
        files = {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}
        samples = range(len(members_of(corpus, task_id)))
        expected = {f"graphs/{n}/{name}" for n in samples for name in (*FILE_NAMES, "subgraph_sources.json")}
        assert files == expected | {"task.json", "README.md", f"pass_dir/{PASS_LIST}"}
        assert json.loads((folder / "pass_dir" / PASS_LIST).read_text()) == []


@pytest.mark.parametrize("task_id", [SHAPES, DTYPES, ONE])
def test_samples_read_back_are_the_programs_of_the_task_and_say_what_calls_return(
    corpus: Corpus, exported: Path, task_id: str
) -> None:
    samples = [sample.path for sample in find_samples(folder_of(exported, task_id))]
    members = load_task(corpus, task_id).members
    assert [path.name for path in samples] == [str(member.position) for member in members]
    assert [read_back(path) for path in samples] == [record_outputs(member.graph) for member in members]


def test_task_json_says_what_members_take_and_return(corpus: Corpus, exported: Path) -> None:
    task, facts = load_task(corpus, DTYPES), told(exported, DTYPES)
    assert (facts["format"], facts["scoring_config"]) == ("passnet-task/1", "passnet-scoring/1")
    assert (facts["task_id"], facts["split"], facts["kind"]) == (DTYPES, "train", "classical")
    assert facts["op_sequence"] == list(task.op_sequence)
    assert [row["instance_sha256"] for row in facts["members"]] == members_of(corpus, DTYPES)
    for row, member in zip(facts["members"], task.members, strict=True):
        recorded = replace(member, graph=record_outputs(member.graph))
        assert [row[name] for name in ("dtype", "num_bytes", "num_flop")] == [
            member.dtype, member.num_bytes, member.num_flop,
        ]  # fmt: skip
        for name, metas in (("operands", member.graph.tensors), ("outputs", recorded.outputs)):
            stated = [(tuple(form["shape"]), tuple(form["stride"]), form["dtype"]) for form in row[name]]
            assert stated == [(meta.shape, meta.stride, meta.dtype) for meta in metas if meta is not None]
        assert [form["name"] for form in row["operands"]] == [meta.name for meta in member.graph.tensors]


def test_task_json_has_the_newest_time_and_check_of_a_member(exported: Path) -> None:
    """A check holds for all that have the structure and dtype of the instance that was run."""
    first, *others = told(exported, SHAPES)["members"]
    (baseline,) = first["baselines"]
    assert (baseline["backend"], baseline["device"], baseline["latency_us"]) == ("eager", "cpu:Xeon", 50.0)
    assert (baseline["device_us"], baseline["iqr_frac"], baseline["stable"]) == (None, 0.1, True)
    for row in (first, *others):
        floor = row["null_floor"]
        assert (floor["algorithm"], floor["zeros_level"]) == ("check/10", -2)
        assert floor["checked_instance"] == first["instance_sha256"]
    assert all(row["baselines"] == [] for row in others)
    assert all(row["null_floor"] is None for row in told(exported, ONE)["members"])


def test_task_json_has_the_tolerances_that_outputs_are_compared_with(exported: Path) -> None:
    table = told(exported, ONE)["tolerances"]
    levels = table.pop("levels")
    assert levels == list(range(-10, 1))
    assert table.pop("others") == {"atol": [0.0] * 11, "rtol": [0.0] * 11}
    for dtype, row in table.items():
        expected = [tolerance(getattr(torch, dtype), level) for level in levels]
        assert list(zip(row["atol"], row["rtol"], strict=True)) == expected


def test_the_readme_tells_the_ops_and_the_members(corpus: Corpus, exported: Path) -> None:
    task, text = load_task(corpus, SHAPES), (folder_of(exported, SHAPES) / "README.md").read_text()
    assert " -> ".join(task.op_sequence) in " ".join(text.split())
    for member in task.members:
        operand = member.graph.tensors[0]
        assert (
            f"| {member.position} | {member.model_id} | {member.dtype} | {operand.dtype}{list(operand.shape)}" in text
        )


def test_where_torch_cannot_tell_what_calls_return_the_files_say_unknown(corpus: Corpus) -> None:
    task = load_task(corpus, ONE)
    files = dict(task_files(corpus, task, lambda graph: graph))
    assert json.loads(files["task.json"])["members"][0]["outputs"] == [None] * len(task.members[0].graph.outputs)
    assert "| unknown |" in files["README.md"]


@pytest.mark.parametrize(
    ("tasks", "split", "kinds", "said"),
    [
        (["f00"], None, None, "no task of .* is called 'f00'"),
        ([SHAPES], "train", None, "no train task of"),
        ([], "test", None, "--split test: there is no such side; choose train or eval"),
        ([], None, ["fused"], "--kind fused: there is no such kind"),
        ([], None, ["fusible"], "holds no such task; see which there are: passnet bench stats"),
        ([], None, None, f"{SHAPES[:16]} exists and is not empty"),
    ],
)
def test_nothing_is_written_where_something_is_wrong(
    corpus: Corpus, tmp_path: Path, tasks: list[str], split: str | None, kinds: list[str] | None, said: str
) -> None:
    taken = tmp_path / "out" / "eval" / "classical" / SHAPES[:16]
    taken.mkdir(parents=True)
    (taken / "mine.txt").write_text("mine")
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(UsageError, match=said):
        export_tasks(corpus.root, tasks, split, kinds, None, tmp_path / "out")
    assert sorted(tmp_path.rglob("*")) == before


def test_an_export_that_was_killed_goes_on_and_keeps_what_is_done(
    corpus: Corpus, exported: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    shutil.copytree(exported, out)
    kept, lost = folder_of(out, SHAPES), folder_of(out, DTYPES)
    shutil.rmtree(lost)
    left = lost.with_name(f".tmp.{lost.name}-0123abcd")
    (left / "graphs").mkdir(parents=True)
    foreign = [lost.with_name(".tmp.mine"), lost.with_name(f".tmp.{'0' * 16}-0123abcd")]
    for path in foreign:
        path.mkdir()
    before = kept.stat().st_ino
    with writing_below(out, []):  # another export at work: what it is writing stays
        export_tasks(corpus.root, [DTYPES], None, None, None, out)
    assert left.is_dir()
    export_tasks(corpus.root, [], None, None, None, out)
    assert not left.exists()
    assert all(path.is_dir() for path in foreign)
    assert kept.stat().st_ino == before
    for path in exported.rglob("*"):
        assert path.is_dir() or path.read_bytes() == (out / path.relative_to(exported)).read_bytes()


@pytest.mark.parametrize("name", ["README.md", "graphs/0/model.py", "pass_dir/Mine.py", "link"])
def test_a_tasks_folder_that_is_not_as_it_would_be_written_is_refused(
    corpus: Corpus, exported: Path, tmp_path: Path, name: str
) -> None:
    out = tmp_path / "out"
    shutil.copytree(exported, out)
    shutil.rmtree(folder_of(out, DTYPES))
    changed = folder_of(out, SHAPES) / name
    if name == "link":
        changed.symlink_to(tmp_path)
    else:
        changed.write_text("mine")
    with pytest.raises(UsageError, match=f"exists and is not empty, and its {name} is not what would be written"):
        export_tasks(corpus.root, [], None, None, None, out)
    assert list(out.glob(f"*/*/{DTYPES[:16]}")) == []


def test_an_empty_name_of_the_folder_is_refused(
    corpus: Corpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(["bench", "export", "--corpus", str(corpus.root), "--out", ""]) == 2
    assert "--out is empty" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_a_file_in_the_place_of_the_folder_is_refused(corpus: Corpus, tmp_path: Path) -> None:
    (tmp_path / "out").write_text("")
    with pytest.raises(UsageError, match="exists and is no folder"):
        export_tasks(corpus.root, [ONE], None, None, None, tmp_path / "out")


def test_a_task_that_cannot_be_written_leaves_no_folder(corpus: Corpus, tmp_path: Path) -> None:
    copy = copy_of(corpus, tmp_path / "corpus")
    rewrite(copy, "models", copy.read("models").slice(0, 0))
    with pytest.raises(UsageError, match="is no source of graph"):
        export_tasks(copy.root, [ONE], None, None, None, tmp_path / "out")
    assert [path for path in (tmp_path / "out").rglob("*") if path.is_file() or ONE[:16] in path.name] == []


def test_a_limit_and_tasks_beside_those_that_are_there(
    corpus: Corpus, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    common = ("--corpus", str(corpus.root), "--out", str(tmp_path))
    call("export", *common, "--kind", "classical,single_op", "--split", "train", "--limit", "1")
    assert f"1 task in {tmp_path}" in capsys.readouterr().out
    call("export", *common, ONE[:6])
    assert {path.name for path in tmp_path.glob("*/*/*")} == {DTYPES[:16], ONE[:16]}


def test_a_task_is_shown_with_each_program_once(
    corpus: Corpus, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    call("show", DTYPES[:9], "--corpus", str(corpus.root))
    out = capsys.readouterr().out
    assert DTYPES in out
    assert all(name[:16] in out for name in members_of(corpus, DTYPES))
    num_programs = len({render(member.graph) for member in load_task(corpus, DTYPES).members})
    assert out.count("def forward(") == num_programs == len(re.findall("^program ", out, re.MULTILINE))
    with pytest.raises(UsageError, match="means several tasks"):
        call("show", DTYPES[:4], "--corpus", str(corpus.root))


_APPLY_EXAMPLE = """
import importlib, sys, torch, torch.fx
from torch.fx.subgraph_rewriter import replace_pattern
from extract.graph import Graph, Node, OpRef, TensorMeta, TensorRef
from extract.text import render
from profiles.comparison import compare

sys.path[:0] = sys.argv[1:]
found = importlib.import_module(sys.argv[2])
metas = tuple(TensorMeta(name, "input", name, (7, 300), (300, 1), "float32") for name in "ab")
add = Node("add", "torch.Tensor.add", (TensorRef(0), TensorRef(1)))
relu = Node("relu", "torch.nn.functional.relu", (OpRef(0),), (("inplace", False),))
names = {}
exec(render(Graph((add, relu), metas, (OpRef(1),))), names)
module = names["GraphModule"]()
traced = torch.fx.symbolic_trace(module)
matches = replace_pattern(
    traced, found.pattern, lambda in_0, in_1: found.replacement_func()(*found.replacement_args(in_0, in_1))
)
assert len(matches) == 1 and "relu(" not in traced.code.replace("add_relu(", ""), traced.code
for dtype in (torch.float32, torch.float16, torch.bfloat16):
    operands = [torch.randn(7, 300).to(dtype) for _ in range(2)]
    outcome = compare(module(*operands), traced(*operands))
    print(dtype, outcome.bitwise_equal, outcome.tolerance_level <= -5)
"""


def test_the_readmes_example_is_a_pass_that_replaces_what_it_says(exported: Path, tmp_path: Path) -> None:
    text = (folder_of(exported, ONE) / "README.md").read_text()
    example, _ = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    (tmp_path / f"{EXAMPLE_NAME}.py").write_text(example)
    done = subprocess.run(
        [sys.executable, "-c", _APPLY_EXAMPLE, str(tmp_path), EXAMPLE_NAME],
        cwd=ROOT,
        env={**os.environ, "TRITON_INTERPRET": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    # Triton's interpreter, which needs no GPU, cuts float32 down to bfloat16 where kernels round.
    expected = ["torch.float32 True True", "torch.float16 True True", "torch.bfloat16 False True"]
    assert done.stdout.splitlines() == expected


def test_the_readmes_script_tries_the_passes_of_a_task(exported: Path, tmp_path: Path) -> None:
    """First with no pass, then with one that does what it replaces, last with one that does not."""
    folder = tmp_path / "task"
    shutil.copytree(folder_of(exported, ONE), folder)
    _, script = re.findall(r"```python\n(.*?)```", (folder / "README.md").read_text(), re.DOTALL)
    (folder / "try_passes.py").write_text(script)
    assert _try_passes(folder) == ["graph 0: no pass; t = -10"]

    for name, operator in (("Right", "+"), ("Wrong", "-")):
        (folder / "pass_dir" / f"{name}.py").write_text(_PASS.format(operator=operator))
    (folder / "pass_dir" / PASS_LIST).write_text('["Right"]')
    assert _try_passes(folder) == ["graph 0: Right matched 6 times; t = -10"]
    (folder / "pass_dir" / PASS_LIST).write_text('["Wrong"]')
    (line,) = _try_passes(folder)
    assert line.startswith("graph 0: Wrong matched 6 times; t = ")
    assert not line.endswith("-10")


def test_the_readmes_script_runs_kernels_and_says_what_no_pass_matches(exported: Path, tmp_path: Path) -> None:
    folder = tmp_path / "task"
    shutil.copytree(folder_of(exported, ONE), folder)
    example, script = re.findall(r"```python\n(.*?)```", (folder / "README.md").read_text(), re.DOTALL)
    (folder / "try_passes.py").write_text(script)
    (folder / "pass_dir" / f"{EXAMPLE_NAME}.py").write_text(example)
    (folder / "pass_dir" / PASS_LIST).write_text(f'["{EXAMPLE_NAME}"]')
    assert _try_passes(folder) == [f"graph 0: {EXAMPLE_NAME} matched 0 times; failed: no pass matches it"]

    one_add = example.replace("total = in_0.add(in_1)", "return in_0.add(in_1)")
    one_add = one_add.replace("tl.where(total < 0, 0.0, total)", "total")
    assert one_add.count("return in_0.add(in_1)") == one_add.count(", total, mask") == 1
    (folder / "pass_dir" / "Kernel.py").write_text(one_add)
    (folder / "pass_dir" / "Shared.py").write_text(_SHARED_PASS)
    for name in ("Kernel", "Shared"):
        (folder / "pass_dir" / PASS_LIST).write_text(f'["{name}"]')
        (line,) = _try_passes(folder)  # Triton's interpreter cuts float32 down to bfloat16, so no t of -10
        assert re.fullmatch(f"graph 0: {name} matched 6 times; t = (-[0-9]+)", line)


_SHARED_PASS = """
from pass_dir import Kernel

def pattern(left, right):
    return left.add(right)

def replacement_args(left, right):
    return (left, right)

def replacement_func():
    return Kernel.add_relu
"""


_PASS = """
import torch

def pattern(left, right):
    return left.add(right)

def replacement_args(left, right):
    return (left, right)

@torch.fx.wrap
def combined(left, right):
    return left {operator} right

def replacement_func():
    return combined
"""


def _try_passes(folder: Path) -> list[str]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "TRITON_INTERPRET": "1"}
    command = [sys.executable, "try_passes.py"]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_floors_are_explained_where_there_are_some(exported: Path) -> None:
    texts = {task: (folder_of(exported, task) / "README.md").read_text() for task in (SHAPES, ONE)}
    assert "checked_instance" in texts[SHAPES]
    assert "null_floor" not in texts[ONE]
