"""A build of PassBench: nothing leaks, every group is accounted for, degenerate ones give way, former tasks stay."""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from benchmarks.bench_leaks import leaking_pairs
from passbench.choice import ChoiceConfig
from passbench.hmm import HmmConfig
from storage.bench_base import load_base
from storage.bench_build import TaskBuild, Verdict
from storage.bench_rows import BuildConfig
from storage.bench_steps import BENCH_TABLES
from storage.corpus import Corpus
from storage.errors import UsageError
from storage.query import run_query
from tests.storage.bench_corpus import Made, sizes, write_instances

OPS = ("linear", "gelu", "add", "mul", "softmax", "view")
CONFIG = BuildConfig(ChoiceConfig(num_selected=6, hmm=HmmConfig(num_states=4, num_iterations=5)), sigma=4)
Tables = dict[str, pa.Table]


def subgraphs(first: int, last: int) -> list[Made]:
    """Random subgraphs of few ops, so that many contain one another; some are both fusible and classical."""
    made = []
    for number in range(first, last):
        chance = random.Random(number)
        ops = tuple(chance.choice(OPS) for _ in range(chance.randint(2, 6)))
        kinds = chance.choice([("fusible",), ("classical",), ("classical", "fusible")])
        program = f"shared{number % 7}" if chance.random() < 0.1 else None
        family = f"family{number % 9}" if chance.random() < 0.9 else None
        widths = chance.sample([3, 8, 17, 64, 300, 5000], chance.randint(1, 4))
        made.append(Made(f"made{number}", kinds, ops, sizes(*widths), family=family, program=program))
    singles = [Made(f"op{op}", ("single_op",), (op,), sizes(4, 64), family="family1") for op in OPS]
    return made + singles if first == 0 else made


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    return write_instances(tmp_path_factory.mktemp("build") / "corpus", subgraphs(0, 60))


def make(
    corpus: Corpus, config: BuildConfig = CONFIG, base: str | None = None, check: Callable[..., Any] | None = None
) -> Tables:
    former = load_base(corpus, base) if base else None
    with corpus.connect(BENCH_TABLES) as connection:
        build = TaskBuild(connection, config, former)
        if check is not None:
            build.check = check
        return build.make()


@pytest.fixture(scope="module")
def tables(corpus: Corpus) -> Tables:
    return make(corpus)


def rows(tables: Tables, table: str, **wanted: object) -> list[dict[str, Any]]:
    found = tables[table].to_pylist()
    return [row for row in found if all(row[name] == value for name, value in wanted.items())]


def no_leaks(tables: Tables) -> None:
    assert rows(tables, "bench_tasks", split="eval")
    assert rows(tables, "bench_tasks", split="train")
    assert not list(leaking_pairs(rows(tables, "bench_tasks")))


def test_no_training_task_leaks_an_evaluation_task(tables: Tables) -> None:
    no_leaks(tables)
    dropped = rows(tables, "bench_leakage", is_dropped=True)
    assert {row["relation"] for row in dropped} <= {"equal_sequence", "contained", "equal_structure"}
    assert dropped
    evaluated = {(row["kind"], row["op_sequence_xxh3"]) for row in rows(tables, "bench_tasks", split="eval")}
    assert {(row["evaluation_kind"], row["evaluation_xxh3"]) for row in dropped} <= evaluated


def test_evaluation_has_one_task_per_sequence_of_its_kinds_and_single_ops_are_for_training(tables: Tables) -> None:
    tasks = rows(tables, "bench_tasks", split="eval")
    assert Counter(task["kind"] for task in tasks) == {"fusible": 6, "classical": 6}
    assert len({(task["kind"], task["op_sequence_xxh3"]) for task in tasks}) == 12


def test_a_small_corpus_keeps_half_of_its_sequences_for_training(corpus: Corpus) -> None:
    tables = make(corpus, BuildConfig(ChoiceConfig(hmm=CONFIG.choice.hmm), sigma=4))
    for row in rows(tables, "bench_selections", is_used=True):
        assert row["num_selected"] == row["num_sequences"] // 2
    no_leaks(tables)


@pytest.mark.parametrize("every_group", [False, True])
def test_every_group_is_a_task_or_dropped_with_a_reason(corpus: Corpus, every_group: bool) -> None:
    tables = make(corpus, BuildConfig(CONFIG.choice, CONFIG.sigma, every_group))
    (build,) = rows(tables, "bench_builds")
    tasks, dropped = tables["bench_tasks"].column("task_id"), tables["bench_dropped"].column("task_id")
    assert len(set(tasks.to_pylist()) & set(dropped.to_pylist())) == 0
    assert len(tasks) + len(dropped) == build["num_groups"]
    reasons = {row["reason"] for row in rows(tables, "bench_dropped")}
    assert reasons == {"leak", "evaluated"} | (set() if every_group else {"not_drawn"})
    trained = Counter(
        (row["kind"], row["op_sequence_xxh3"], row["rule"]) for row in rows(tables, "bench_tasks", split="train")
    )
    assert (max(trained.values()) > 1) == every_group


def test_the_same_corpus_gives_the_same_tables_whatever_the_order_of_its_rows(
    corpus: Corpus, tables: Tables, tmp_path: Path
) -> None:
    again = write_instances(tmp_path / "again", subgraphs(0, 60), reverse=True)
    first, second = tables, make(again)
    assert first == second
    with Corpus.open(again.root, write=True) as opened:
        number = opened.replace(second, "one").number
        assert opened.replace(first, "two").number == number
        assert opened.replace(make(corpus, BuildConfig(CONFIG.choice, 2)), "three").number == number + 1
        assert opened.read("bench_builds").num_rows == 1
        splits = run_query(opened, "bench_splits")
    assert {(row["kind"], row["split"]) for row in splits} >= {("fusible", "eval"), ("single_op", "train")}


def _some_fail(seen: set[str]) -> Callable[[Collection[str]], dict[str, Verdict]]:
    def check(instances: Collection[str]) -> dict[str, Verdict]:
        seen.update(instances)
        return {instance: ("zeros", None) for instance in instances if instance[0] in "01"}

    return check


def test_groups_that_make_no_task_give_way_to_others(corpus: Corpus) -> None:
    seen: set[str] = set()
    tables = make(corpus, check=_some_fail(seen))
    bad = {instance for instance in seen if instance[0] in "01"}
    assert bad
    assert Counter(row["kind"] for row in rows(tables, "bench_tasks", split="eval")) == {"fusible": 6, "classical": 6}
    no_leaks(tables)
    forms = _forms(corpus)
    degenerate = {forms[instance] for instance in bad}
    for row in rows(tables, "bench_members"):
        assert forms[row["instance_sha256"]] not in degenerate
    told = rows(tables, "bench_dropped", reason="zeros")
    assert {row["split"] for row in told} == {"eval", "train"}


def test_training_takes_the_largest_group_that_makes_a_task_in_few_rounds(tmp_path: Path) -> None:
    views = [Made(f"view{number}", ("single_op",), ("view",), sizes(4, 64, 300)) for number in range(80)]
    corpus, calls = write_instances(tmp_path / "corpus", views), 0
    good = {row["instance_sha256"] for row in corpus.read("instances").to_pylist() if row["instance_sha256"][0] == "7"}

    def check(instances: Collection[str]) -> dict[str, Verdict]:
        nonlocal calls
        calls += 1
        return {instance: ("launches_nothing", None) for instance in instances if instance not in good}

    tables = make(corpus, check=check)
    chosen = {_rule(row): _size(row) for row in rows(tables, "bench_tasks", split="train")}
    passed_over = rows(tables, "bench_dropped", split="train", reason="launches_nothing")
    kept = rows(tables, "bench_dropped", split="train", reason="not_drawn")
    assert chosen and kept
    assert all(_size(row) > chosen[_rule(row)] for row in kept if _rule(row) in chosen)
    most = max(Counter(map(_rule, passed_over)).values())
    assert most > 40 and calls <= most.bit_length() + 3


def _rule(row: dict[str, Any]) -> tuple[str, str, str]:
    return row["kind"], row["op_sequence_xxh3"], row["rule"]


def _size(row: dict[str, Any]) -> tuple[int, str]:
    return -row["num_members"], row["task_id"]


def test_a_build_says_each_stage_once_and_which_kinds_have_fewer_tasks_than_asked_for(corpus: Corpus) -> None:
    stages: list[str] = []
    with corpus.connect(BENCH_TABLES) as connection:
        config = BuildConfig(ChoiceConfig(num_selected=500, hmm=CONFIG.choice.hmm), CONFIG.sigma)
        build = TaskBuild(connection, config, check=_some_fail(set()), on_stage=stages.append)
        tables = build.make()
    assert len(stages) == len(set(stages)) == 6
    counts = Counter(row["kind"] for row in rows(tables, "bench_tasks", split="eval"))
    told = [f"{kind}: {counts[kind]} of 500 evaluation tasks asked for" for kind in ("fusible", "classical")]
    assert [line.split(";")[0] for line in build.warnings] == told
    for kind, line in zip(("fusible", "classical"), build.warnings, strict=True):
        degenerate = {
            row["op_sequence_xxh3"] for row in rows(tables, "bench_dropped", split="eval", reason="zeros", kind=kind)
        }
        assert f"{len(degenerate)} make no task" in line


def test_what_is_run_is_the_cheapest_of_each_structure_and_dtype(corpus: Corpus) -> None:
    seen: set[str] = set()
    tables = make(corpus, check=lambda instances: seen.update(instances) or {})
    forms = _forms(corpus)
    asked = {forms[row["instance_sha256"]] for row in rows(tables, "bench_members")}
    assert {forms[instance] for instance in seen} >= asked
    assert len(seen) == len({forms[instance] for instance in seen})


def _forms(corpus: Corpus) -> dict[str, tuple[str, str]]:
    found = corpus.read("instances", ["instance_sha256", "structure_sha256", "dtype"]).to_pylist()
    return {row["instance_sha256"]: (row["structure_sha256"], row["dtype"]) for row in found}


def test_families_are_on_one_side_alone_when_that_is_asked(corpus: Corpus) -> None:
    choice = ChoiceConfig(num_selected=6, split_by_family=True, family_frac=0.5, hmm=CONFIG.choice.hmm)
    tables = make(corpus, BuildConfig(choice, CONFIG.sigma))
    families: dict[str, set[str]] = defaultdict(set)
    for task in rows(tables, "bench_tasks"):
        families[task["split"]] |= set(task["families"])
    assert all(families.values())
    assert families["eval"].isdisjoint(families["train"])
    assert rows(tables, "bench_dropped", reason="family")


@pytest.fixture
def grown(tmp_path: Path, tables: Tables) -> Iterator[Corpus]:
    """A corpus with a build, that a fifth more subgraphs have come to since."""
    path = tmp_path / "grown"
    write_instances(path, subgraphs(0, 60))
    with Corpus.open(path, write=True) as opened:
        opened.replace(tables, "former")
    write_instances(path, subgraphs(60, 72))
    with Corpus.open(path) as opened:
        yield opened


def test_a_former_build_s_tasks_all_stay_on_their_side(grown: Corpus) -> None:
    manifest = grown.manifest().number - 2  # two commits came since
    assert grown.manifest(manifest).rows("bench_tasks")
    anew, kept = make(grown), make(grown, base=str(manifest))
    former = {row["task_id"]: row for row in grown.read("bench_tasks").to_pylist()}
    now = {row["task_id"]: row for row in rows(kept, "bench_tasks")}
    assert former.items() <= now.items()
    assert len(now) > len(former)
    assert not former.items() <= {row["task_id"]: row for row in rows(anew, "bench_tasks")}.items()
    members = grown.read("bench_members").to_pylist()
    assert [row for row in rows(kept, "bench_members") if row["task_id"] in former] == sorted(
        members, key=lambda row: (row["task_id"], row["position"])
    )
    no_leaks(kept)
    reasons = Counter((row["split"], row["reason"]) for row in rows(anew, "bench_dropped"))
    left_out = rows(kept, "bench_dropped")
    assert {(row["split"], row["reason"]) for row in left_out} == set(reasons)
    assert {row["reason"] for row in left_out if row["detail"] == "by a task of the former build"} == {
        "evaluated", "not_drawn",
    }  # fmt: skip
    (build,) = rows(kept, "bench_builds")
    assert (build["base"], build["num_base_tasks"]) == (str(manifest), len(former))
    trained = Counter(
        (row["kind"], row["op_sequence_xxh3"], row["rule"]) for row in rows(kept, "bench_tasks", split="train")
    )
    assert max(trained.values()) == 1


def test_a_former_build_leaves_room_for_new_evaluation_sequences_that_leak_nothing(grown: Corpus) -> None:
    more = BuildConfig(ChoiceConfig(num_selected=9, hmm=CONFIG.choice.hmm), CONFIG.sigma)
    kept = make(grown, more, base=str(grown.root))
    former = set(grown.read("bench_tasks").column("task_id").to_pylist())
    tasks = rows(kept, "bench_tasks", split="eval")
    assert Counter(task["kind"] for task in tasks) == {"fusible": 9, "classical": 9}
    assert former <= {row["task_id"] for row in rows(kept, "bench_tasks")}
    no_leaks(kept)


def test_a_base_without_tasks_or_of_other_instances_is_refused(grown: Corpus, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="has no bench tasks"):
        load_base(grown, "2")
    other = write_instances(tmp_path / "other", subgraphs(80, 90))
    with pytest.raises(UsageError, match=r"instances that .* lacks"):
        load_base(other, str(grown.root))
    with pytest.raises(UsageError, match="has no manifest 999"):
        load_base(grown, "999")
    with pytest.raises(UsageError, match="is not a corpus"):
        load_base(grown, str(tmp_path / "nowhere"))


def test_a_base_whose_members_are_not_those_that_its_tasks_count_is_refused(grown: Corpus, tables: Tables) -> None:
    members = tables["bench_members"]
    task = members.column("task_id")[0].as_py()
    counted = sum(row["task_id"] == task for row in members.to_pylist())
    others = members.filter(pc.field("task_id") != task)
    orphan = pa.concat_tables([members, others.slice(0, 1).set_column(0, others.field(0), pa.array(["f" * 64]))])
    damaged = {
        rf"task {task[:16]} has {counted} members and 0 rows in bench_members;": others,
        rf"task {task[:16]} has .*, and so for .* more": members.slice(0, 0),
        rf"task {'f' * 16} has no row in bench_tasks and 1 rows in bench_members": orphan,
    }
    for said, rows_left in damaged.items():
        with Corpus.open(grown.root, write=True) as opened:
            opened.replace({"bench_members": rows_left}, "damaged")
        with pytest.raises(UsageError, match=said):
            load_base(grown, str(grown.root))
        with pytest.raises(UsageError, match=said):
            load_base(grown, str(grown.manifest().number))
