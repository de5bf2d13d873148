"""PassBench in SQL: every step gives what plain loops over the same rows give, by a build and by hand."""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest
import xxhash

from benchmarks.peers import plain_groups
from benchmarks.peers.plain_groups import Group
from storage.bench_steps import (
    BENCH_TABLES,
    CHECK_STEPS,
    EVALUATION_STEPS,
    SIGMA,
    TRAINING_STEPS,
    choose_training,
    chosen_tables,
    make_groups,
    split_selected,
)
from storage.corpus import Corpus
from storage.fsck import fsck
from storage.queries import BENCH_REPORT_VIEWS, BENCH_VIEWS, query_text
from storage.query import run_sql
from storage.records import rows_to_table
from storage.schemas import KEYS
from tests.storage.bench_corpus import SUBGRAPHS, instance_rows, subgraph_rows, write_instances

STEPS = (*BENCH_VIEWS, *EVALUATION_STEPS, *TRAINING_STEPS, *CHECK_STEPS)
SELECTED = ("fusible", next(made.sequence for made in SUBGRAPHS if made.name == "both"))


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    return write_instances(tmp_path_factory.mktemp("bench") / "corpus")


@pytest.fixture(scope="module")
def rows() -> list[dict[str, Any]]:
    return plain_groups.under_kinds(instance_rows(), subgraph_rows())


@pytest.fixture
def built(corpus: Corpus) -> Iterator[duckdb.DuckDBPyConnection]:
    with corpus.connect(BENCH_TABLES) as connection:
        make_groups(connection)
        yield connection


def dicts(connection: duckdb.DuckDBPyConnection, sql: str) -> list[dict[str, Any]]:
    cursor = connection.execute(sql)
    names = [column[0] for column in cursor.description or ()]
    return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]


def stored_groups(connection: duckdb.DuckDBPyConnection, source: str) -> list[Group]:
    """The groups of a step, in no order."""
    sql = f"SELECT kind, rule, op_sequence_xxh3, members FROM {source}"
    return [Group(*fields, tuple(members)) for *fields, members in connection.execute(sql).fetchall()]


def in_order(groups: list[Group]) -> list[Group]:
    return sorted(groups, key=lambda group: (group.rule, group.kind, group.sequence, group.members))


def test_xxh3_in_sql_is_xxh3(corpus: Corpus) -> None:
    texts = [hashlib.sha256(str(number).encode()).hexdigest() for number in range(2000)] + [
        "0" * 64,
        "f" * 64,
        "~" * 64,
    ]
    with corpus.connect([]) as connection:
        sql = "SELECT list_transform($texts, lambda text: xxh3_64(text)), xxh3_64('ab'), xxh3_64(NULL)"
        row = connection.execute(sql, {"texts": texts}).fetchone()
    assert row == ([xxhash.xxh3_64_intdigest(text.encode()) for text in texts], None, None)


@pytest.mark.parametrize("size", [0, 1, 2, *(16**power + step for power in range(1, 11) for step in (-1, 0, 1))])
def test_sizes_are_quantized_exactly(size: int) -> None:
    row = {"operands": [{"shape": [size], "dtype": "float32"}]}
    with duckdb.connect() as connection:
        sql = "CREATE TABLE instances AS SELECT 's' AS subgraph_sha256, 0 AS shape_config, 'float32' AS dtype, "
        sql += "'i' AS instance_sha256, 't' AS structure_sha256, 'm' AS model_id, "
        connection.execute(f"{sql} [{{'shape': [{size}::BIGINT], 'dtype': 'float32'}}] AS operands")
        connection.execute(
            "CREATE TABLE subgraphs AS SELECT 's' AS subgraph_sha256, 'k' AS kind, 'x' AS op_sequence_xxh3"
        )
        (found,) = dicts(connection, query_text("bench_instances"))
    ((bucket,),), _ = plain_groups.bucket(row)
    assert found["shape_bucket"] == f"[[{bucket}]]"


def test_instances_fall_into_the_buckets_that_a_loop_puts_them_in(
    built: duckdb.DuckDBPyConnection, rows: list[dict[str, Any]]
) -> None:
    expected = defaultdict(set)
    for row in rows:
        expected[row["kind"], row["sequence"], plain_groups.bucket(row)].add(row["instance_sha256"])
    given = defaultdict(set)
    for row in dicts(built, "FROM bench_buckets"):
        name = row["kind"], row["op_sequence_xxh3"], row["shape_bucket"], row["operand_dtypes"]
        given[name].add(row["instance_sha256"])
    assert Counter(map(frozenset, given.values())) == Counter(map(frozenset, expected.values()))
    shared = {row["instance_sha256"] for row in rows if row["subgraph_sha256"] == _subgraph("meet_a")}
    assert shared & {row["instance_sha256"] for row in rows if row["subgraph_sha256"] == _subgraph("meet_b")}


@pytest.mark.parametrize("sigma", [1, 2, SIGMA, 1000])
def test_each_rule_groups_what_a_loop_groups(corpus: Corpus, rows: list[dict[str, Any]], sigma: int) -> None:
    strewn = plain_groups.singles_and_triples(rows, sigma)
    expected = {
        "bench_single": [group for group in strewn if group.rule == "single"],
        "bench_triple": [group for group in strewn if group.rule == "triple"],
        "bench_cross_shape": plain_groups.cross_shape(rows),
        "bench_cross_dtype": plain_groups.cross_dtype(rows),
    }
    with corpus.connect(BENCH_TABLES) as connection:
        make_groups(connection, sigma)
        for step, groups in expected.items():
            assert in_order(stored_groups(connection, step)) == in_order(groups), step
        assert in_order(stored_groups(connection, "bench_groups")) == in_order(plain_groups.groups(rows, sigma))


def test_the_corpus_holds_each_case(rows: list[dict[str, Any]]) -> None:
    groups = plain_groups.groups(rows, SIGMA)
    sizes = defaultdict(set)
    for group in groups:
        sizes[group.rule].add(len(group.members))
    assert sizes == {"single": {1}, "triple": {3}, "cross_shape": {1, 2, 3}, "cross_dtype": {1, 2, 3}}
    per_bucket = Counter(group.sequence for group in groups if group.rule == "triple" and group.kind == "fusible")
    assert max(per_bucket.values()) > 6  # several stretches of a bucket
    everywhere = [*plain_groups.singles_and_triples(rows, SIGMA), *plain_groups.cross_shape(rows)]
    assert len({group.task_id for group in everywhere}) < len(everywhere)  # the same group in two kinds


def test_a_group_is_named_by_rule_and_members_and_has_one_kind(built: duckdb.DuckDBPyConnection) -> None:
    rows = dicts(built, "FROM bench_groups")
    assert len({row["task_id"] for row in rows}) == len(rows)
    for row in rows:
        group = Group(row["kind"], row["rule"], row["op_sequence_xxh3"], tuple(row["members"]))
        assert (row["task_id"], row["num_members"]) == (group.task_id, len(group.members))
        assert row["members"] == sorted(set(row["members"]))
    both = {row["kind"] for row in rows if row["op_sequence_xxh3"] == SELECTED[1]}
    assert both == {"fusible"}


def test_candidates_say_what_their_members_are(built: duckdb.DuckDBPyConnection, rows: list[dict[str, Any]]) -> None:
    candidates = dicts(built, "FROM bench_candidates")
    assert len(candidates) == len(stored_groups(built, "bench_groups"))
    ops = {made.sequence: list(made.ops) for made in SUBGRAPHS}
    for candidate in candidates:
        own = [
            row for row in rows
            if row["instance_sha256"] in candidate["members"] and row["kind"] == candidate["kind"]
        ]  # fmt: skip
        families = {row["model_id"].removeprefix("timm/") for row in own} - {"None"}
        assert candidate["op_sequence"] == ops[candidate["op_sequence_xxh3"]]
        assert candidate["num_ops"] == len(candidate["op_sequence"])
        assert candidate["num_shapes"] == len({plain_groups.bucket(row)[0] for row in own})
        assert candidate["dtypes"] == sorted({row["dtype"] for row in own})
        assert candidate["families"] == sorted(families)
        assert candidate["structures"] == sorted({row["structure_sha256"] for row in own})
    assert [] in [candidate["families"] for candidate in candidates]
    assert ["bert", "swin"] in [candidate["families"] for candidate in candidates]


def test_sequences_are_those_with_a_group_and_count_distinct_instances(
    built: duckdb.DuckDBPyConnection, rows: list[dict[str, Any]]
) -> None:
    members, groups = defaultdict(set), defaultdict(list)
    for row in rows:
        members[row["kind"], row["sequence"]].add(row["instance_sha256"])
    for group in plain_groups.groups(rows, SIGMA):
        groups[group.kind, group.sequence].append(len(group.members))
    sequences = {(row["kind"], row["op_sequence_xxh3"]): row for row in dicts(built, "FROM bench_sequences")}
    assert sequences.keys() == groups.keys()
    for key, row in sequences.items():
        assert row["num_instances"] == len(members[key])
        assert (row["num_groups"], row["largest_group"]) == (len(groups[key]), max(groups[key]))
    assert sequences["fusible", _sequence("meet_a")]["families"] == ["bert", "swin"]


def test_evaluation_has_the_largest_group_and_training_one_per_sequence_and_rule(
    built: duckdb.DuckDBPyConnection, rows: list[dict[str, Any]]
) -> None:
    groups = plain_groups.groups(rows, SIGMA)
    split_selected(built, [SELECTED])
    assert stored_groups(built, "bench_evaluation") == [
        min((group for group in groups if (group.kind, group.sequence) == SELECTED), key=_largest)
    ]
    left = [group for group in groups if group.sequence != SELECTED[1]]
    assert in_order(stored_groups(built, "bench_remaining")) == in_order(left)

    leaking = {min(left, key=_largest).task_id, next(group.task_id for group in left if group.rule == "single")}
    kept = [group for group in left if group.task_id not in leaking]
    choose_training(built, leaking, every_group=True)
    assert in_order(stored_groups(built, "bench_training")) == in_order(kept)
    choose_training(built, leaking)
    chosen: dict[Any, Group] = {}
    for group in sorted(kept, key=_largest):
        chosen.setdefault((group.kind, group.sequence, group.rule), group)
    assert in_order(stored_groups(built, "bench_training")) == in_order(list(chosen.values()))


def test_no_selection_in_one_kind_leaves_its_sequence_to_training_in_another(built: duckdb.DuckDBPyConnection) -> None:
    split_selected(built, [("fusible", _sequence("mlp0"))])
    kinds = dicts(built, f"FROM bench_sequences WHERE op_sequence_xxh3 = '{_sequence('mlp0')}'")
    assert {row["kind"] for row in kinds} == {"classical", "fusible"}
    assert not dicts(built, f"FROM bench_remaining WHERE op_sequence_xxh3 = '{_sequence('mlp0')}'")


def test_the_rows_are_those_of_the_tables_and_the_same_from_the_same_corpus(corpus: Corpus, tmp_path: Path) -> None:
    again = write_instances(tmp_path / "again", reverse=True)
    tables = []
    for source in (corpus, again):
        with source.connect(BENCH_TABLES) as connection:
            make_groups(connection, 2)
            split_selected(connection, [SELECTED])
            choose_training(connection, [])
            tables.append(chosen_tables(connection))
    assert tables[0] == tables[1]
    tasks, members = tables[0]["bench_tasks"].to_pylist(), tables[0]["bench_members"].to_pylist()
    assert {task["sigma"] for task in tasks} == {2}
    assert {task["split"] for task in tasks} == {"eval", "train"}
    places = defaultdict(list)
    for row in members:
        places[row["task_id"]].append((row["position"], row["instance_sha256"]))
    assert {task["task_id"]: task["num_members"] for task in tasks} == {
        task: len(rows) for task, rows in places.items()
    }
    for task in tasks:
        of_task = [instance for _, instance in places[task["task_id"]]]
        assert [position for position, _ in places[task["task_id"]]] == list(range(task["num_members"]))
        group = Group(task["kind"], task["rule"], task["op_sequence_xxh3"], tuple(of_task))
        assert group.task_id == task["task_id"]

    with Corpus.open(again.root, write=True) as opened:
        opened.commit(opened.stage(tables[0], "bench"), "bench")
        assert opened.read("bench_tasks").num_rows == len(tasks)
    bench = [finding for finding in fsck(Corpus.open(again.root)) if finding.subject.startswith("bench")]
    assert bench == []


def test_fsck_finds_tasks_and_members_that_do_not_belong_together(corpus: Corpus, tmp_path: Path) -> None:
    copy = write_instances(tmp_path / "copy")
    with corpus.connect(BENCH_TABLES) as connection:
        make_groups(connection)
        split_selected(connection, [SELECTED])
        choose_training(connection, [])
        tables = chosen_tables(connection)
    members = tables["bench_members"]
    tables["bench_tasks"] = tables["bench_tasks"].slice(1)
    tables["bench_members"] = members.slice(0, members.num_rows - 1)
    with Corpus.open(copy.root, write=True) as opened:
        opened.commit(opened.stage(tables, "bench"), "bench")
    problems = [finding.problem for finding in fsck(Corpus.open(copy.root)) if finding.subject.startswith("bench")]
    assert len(problems) == 2
    assert any("its task is missing" in problem for problem in problems)
    assert any("members, there are" in problem for problem in problems)


def test_the_steps_run_by_hand_in_the_catalogue_and_as_files(corpus: Corpus, rows: list[dict[str, Any]]) -> None:
    with duckdb.connect(str(corpus.write_catalogue()), read_only=True) as connection:
        assert in_order(stored_groups(connection, "bench_groups")) == in_order(plain_groups.groups(rows, SIGMA))
        connection.execute("SET VARIABLE sigma = 2")
        expected = in_order(plain_groups.groups(rows, 2))
        assert in_order(stored_groups(connection, "bench_groups")) == expected
        connection.execute(
            "CREATE TEMP TABLE bench_selection AS SELECT kind, op_sequence_xxh3 FROM bench_sequences LIMIT 2"
        )
        connection.execute("CREATE TEMP TABLE bench_barred (task_id VARCHAR)")
        connection.execute("CREATE TEMP TABLE bench_asked AS SELECT task_id FROM bench_groups LIMIT 3")
        for step in STEPS:
            text = query_text(step)
            assert text.startswith("-- Step "), step
            if step in BENCH_VIEWS:
                assert connection.execute(text).fetchall(), step
            else:
                connection.execute(f"CREATE TEMP TABLE {step} AS {text}")
        assert dicts(connection, "SELECT count(*) AS n FROM bench_evaluation") == [{"n": 2}]
    assert run_sql(corpus, "SELECT count(*) FROM bench_groups", {"sigma": 2}).rows.__next__() == (len(expected),)


def test_the_views_go_by_the_sigma_of_the_newest_build(rows: list[dict[str, Any]], tmp_path: Path) -> None:
    build = {"algorithm": "a", "config": '{"choice":{"seed":0},"sigma":2}', "num_base_tasks": 0, "num_groups": 1}
    copy = write_instances(tmp_path / "copy")
    with Corpus.open(copy.root, write=True) as opened:
        opened.replace({"bench_builds": rows_to_table("bench_builds", [build])}, "build")
        expected = {sigma: in_order(plain_groups.groups(rows, sigma)) for sigma in (2, 5)}
        with opened.connect() as connection:
            assert in_order(stored_groups(connection, "bench_groups")) == expected[2]
        with opened.connect(BENCH_TABLES) as connection:
            make_groups(connection, 5)
            assert in_order(stored_groups(connection, "bench_groups")) == expected[5]
        with duckdb.connect(str(opened.write_catalogue()), read_only=True) as connection:
            assert in_order(stored_groups(connection, "bench_groups")) == expected[2]
            connection.execute("SET VARIABLE sigma = 5")
            assert in_order(stored_groups(connection, "bench_groups")) == expected[5]


def test_the_files_are_the_steps_in_order(tmp_path: Path) -> None:
    folder = Path(__file__).resolve().parents[2] / "storage" / "sql"
    assert {path.stem for path in folder.glob("bench_*.sql")} == {*STEPS, *BENCH_REPORT_VIEWS}
    assert [int(query_text(step).split()[2].strip(":,")) for step in STEPS] == list(range(1, len(STEPS) + 1))
    assert (KEYS["bench_tasks"], KEYS["bench_members"]) == (("task_id",), ("task_id", "position"))


def test_an_empty_corpus_gives_no_tasks_and_a_sigma_below_one_is_refused(tmp_path: Path) -> None:
    with Corpus.create(tmp_path / "empty") as empty, empty.connect() as connection:
        make_groups(connection)
        split_selected(connection, [])
        choose_training(connection, [])
        assert [rows.num_rows for rows in chosen_tables(connection).values()] == [0, 0]
        with pytest.raises(ValueError, match="sigma"):
            make_groups(connection, 0)


def _largest(group: Group) -> tuple[int, str]:
    return -len(group.members), group.task_id


def _subgraph(name: str) -> str:
    return hashlib.sha256(name.encode()).hexdigest()


def _sequence(name: str) -> str:
    return next(made.sequence for made in SUBGRAPHS if made.name == name)
