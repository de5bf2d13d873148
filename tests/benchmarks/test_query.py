"""The query benchmark: its synthetic corpus is sound and as large as asked, and its peer answers as the SQL does."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from benchmarks.peers.polars_queries import POLARS_QUERIES
from benchmarks.query import same_rows
from benchmarks.synthetic_corpus import choose_counts, synthesise
from storage.corpus import Corpus
from storage.fsck import fsck
from storage.query import run_sql
from storage.stock import stock_query
from tests.storage.stock_corpus import write_corpus


@pytest.fixture(scope="module")
def real(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    return write_corpus(tmp_path_factory.mktemp("real") / "corpus")


def test_counts_add_up_and_meet_the_mean() -> None:
    num_ops = [10, 50, 100, 400, 3000]
    for num_graphs, num_nodes in ((1000, 100_000), (1000, 1_500_000), (7, 400)):
        counts = choose_counts(num_ops, num_graphs, num_nodes)
        assert sum(counts) == num_graphs and min(counts) >= 0
        made = sum(count * ops for count, ops in zip(counts, num_ops, strict=True))
        assert abs(made - num_nodes) <= 3000


def test_a_synthetic_corpus_is_sound_and_says_the_same_twice(real: Corpus, tmp_path: Path) -> None:
    for name in ("one", "two"):
        synthesise([real.root], tmp_path / name, 24, 250)
    one, two = (Corpus.open(tmp_path / name) for name in ("one", "two"))
    assert fsck(one, deep=True) == []
    graphs = one.read("graphs").to_pylist()
    assert len(graphs) == 24
    assert {graph["dtype"] for graph in graphs} == {"float32", "bfloat16", "float16"}
    assert len({graph["structure_sha256"] for graph in graphs}) < len({graph["graph_sha256"] for graph in graphs})
    assert one.manifest().rows("models") > 24
    for table in ("graphs", "nodes", "models", "graph_sources", "constraints", "failures"):
        assert one.read(table).equals(two.read(table)), table
    with pytest.raises(FileExistsError):
        synthesise([real.root], tmp_path / "one", 24, 250)


@pytest.mark.parametrize("name", POLARS_QUERIES)
def test_polars_answers_as_the_sql(real: Corpus, name: str) -> None:
    def scan(table: str) -> pl.LazyFrame:
        return pl.scan_parquet([real.root / shard.path for shard in real.manifest().shards(table)])

    ours = list(run_sql(real, stock_query(name).sql).rows)
    assert ours
    assert same_rows(ours, POLARS_QUERIES[name](scan).collect().rows())
