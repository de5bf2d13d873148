"""Tasks loaded from the tables: which are meant, what they hold, and what is wrong where they cannot be had."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest

from extract.hashing import signature_sha256
from mining.instance import instance_sha256
from storage import bench_tasks
from storage.bench_tasks import find_tasks, load_task, load_tasks
from storage.corpus import Corpus
from storage.errors import CorpusError, UsageError
from storage.instances import instance_rows, render_stored
from tests.storage.task_corpus import DTYPES, ONE, SHAPES, SHARED_PREFIX, copy_of, make_tasks, members_of
from tests.storage.test_damage import rewrite

ALL = [SHAPES, DTYPES, ONE]


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    return make_tasks(tmp_path_factory.mktemp("tasks") / "corpus")


@pytest.fixture
def copy(corpus: Corpus, tmp_path: Path) -> Corpus:
    return copy_of(corpus, tmp_path / "corpus")


def test_tasks_are_found_by_split_and_kind_in_the_order_of_their_ids(corpus: Corpus) -> None:
    assert find_tasks(corpus) == ALL
    assert find_tasks(corpus, limit=2) == ALL[:2]
    assert find_tasks(corpus, split="train") == [DTYPES, ONE]
    assert find_tasks(corpus, kinds=["classical", "fusible"], split="train") == [DTYPES]
    assert find_tasks(corpus, kinds=["fusible"]) == []


def test_named_tasks_come_in_the_order_named_each_once(corpus: Corpus) -> None:
    assert find_tasks(corpus, [ONE[:5].upper(), f" {SHAPES} ", ONE]) == [ONE, SHAPES]
    assert find_tasks(corpus, [SHARED_PREFIX], split="eval") == [SHAPES]


@pytest.mark.parametrize(
    ("names", "split", "said"),
    [
        (["123"], None, "no task of .* is called '123'"),
        ([""], None, "no task of .* is called ''"),
        ([ONE[:8]], "eval", "no eval task of"),
        ([SHARED_PREFIX], None, f"means several tasks: {SHAPES[:16]}, {DTYPES[:16]}; give one"),
    ],
)
def test_a_prefix_of_none_or_several_tasks_is_an_error(
    corpus: Corpus, names: list[str], split: str | None, said: str
) -> None:
    with pytest.raises(UsageError, match=said):
        find_tasks(corpus, names, split)


def test_where_there_is_no_task_the_next_step_is_to_build_them(copy: Corpus) -> None:
    rewrite(copy, "bench_tasks", copy.read("bench_tasks").slice(0, 0))
    assert find_tasks(copy) == []
    with pytest.raises(UsageError, match="build them: passnet bench build"):
        load_task(copy, "ab")


@pytest.mark.parametrize("task_id", ALL)
def test_a_task_holds_the_programs_of_its_instances_by_position(corpus: Corpus, task_id: str) -> None:
    task = load_task(corpus, task_id[:9])
    assert (task.task_id, task.families, task.num_shapes) == (task_id, ("vit",), 1)
    assert [member.instance_sha256 for member in task.members] == members_of(corpus, task_id)
    for position, member in enumerate(task.members):
        row = instance_rows(corpus, member.instance_sha256)[0]
        assert member.graph == render_stored(corpus, row)
        assert instance_sha256(signature_sha256(member.graph)) == member.instance_sha256
        named = (member.position, member.dtype, member.model_id, member.num_bytes, member.num_flop)
        assert named == (position, *[row[name] for name in ("dtype", "model_id", "num_bytes", "num_flop")])
        assert task.op_sequence == member.graph.op_names


def test_tasks_read_together_are_those_read_alone(corpus: Corpus, monkeypatch: pytest.MonkeyPatch) -> None:
    together = list(load_tasks(corpus, [ONE, SHAPES, DTYPES]))
    assert together == [load_task(corpus, name) for name in (ONE, SHAPES, DTYPES)]
    monkeypatch.setattr(bench_tasks, "TASKS_PER_READ", 2)
    assert list(load_tasks(corpus, [ONE, SHAPES, DTYPES])) == together
    with pytest.raises(UsageError, match="no task of"):
        list(load_tasks(corpus, [ONE, "f" * 64]))


def test_an_instance_of_several_subgraphs_is_its_first_row_by_key(copy: Corpus) -> None:
    expected = load_task(copy, ONE)
    rows = copy.read("instances")
    (member,) = members_of(copy, ONE)
    again = [{**row, "subgraph_sha256": "f" * 64} for row in rows.to_pylist() if row["instance_sha256"] == member]
    rewrite(copy, "instances", pa.concat_tables([pa.Table.from_pylist(again, rows.schema), rows]))
    assert load_task(copy, ONE) == expected


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ("instances", "is a member of task cdcd"),
        ("generalizations", "the graph that it is made of is missing"),
        ("graphs", "the graph that it is made of is missing"),
        ("nodes", "table nodes 0"),
    ],
)
def test_what_the_corpus_lacks_is_named(copy: Corpus, table: str, said: str) -> None:
    (member,) = members_of(copy, ONE)
    rewrite(copy, table, copy.read(table).slice(0, 0))
    with pytest.raises(CorpusError, match=f"instance {member} cannot be rendered: .*{said}.* passnet fsck --deep"):
        load_task(copy, ONE)


def test_reading_and_writing_tasks_loads_no_torch() -> None:
    code = "import sys, storage.bench_tasks, storage.task_folders; print('torch' in sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout == "False\n"
