"""The main job over the starter list: all is traced and mined, and stock queries answer what the rows say."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from flows.refresh_plan import STARTER_LIST, read_model_list
from storage.corpus import Corpus
from storage.fsck import fsck
from storage.query import run_sql
from storage.stock import STOCK_QUERIES, stock_query
from tests.flows.test_validate import passnet
from tests.storage.stock_answers import ANSWERS
from tests.storage.stock_rows import Rows
from tests.storage.test_stock import assert_same

# What the starter list has none of: models that fail, verdicts that do, programs that differ by sizes alone.
_MAY_BE_EMPTY = ("failures_by_reason", "failed_verdicts_by_op", "size_variants")


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> tuple[subprocess.CompletedProcess[str], Path]:
    path = tmp_path_factory.mktemp("starter") / "corpus"
    done = passnet("refresh", "--source", "starter", "--mine", "--corpus", str(path), "--workers", "2")
    assert done.returncode == 0, done.stderr
    return done, path


@pytest.fixture(scope="module")
def corpus(run: tuple[subprocess.CompletedProcess[str], Path]) -> Corpus:
    return Corpus.open(run[1])


@pytest.fixture(scope="module")
def rows(corpus: Corpus) -> Rows:
    return Rows(corpus)


def test_all_models_are_traced_and_mined_into_a_sound_corpus(corpus: Corpus) -> None:
    assert corpus.traced_models() == set(read_model_list(STARTER_LIST))
    assert corpus.manifest().rows("mined_graphs") == corpus.manifest().rows("graphs")
    assert corpus.manifest().rows("subgraphs") > 500
    assert fsck(corpus) == []


@pytest.mark.parametrize("name", STOCK_QUERIES)
def test_a_stock_query_answers_what_a_loop_over_the_rows_does(corpus: Corpus, rows: Rows, name: str) -> None:
    given = list(run_sql(corpus, stock_query(name).sql).rows)
    assert given or name in _MAY_BE_EMPTY
    assert_same(given, ANSWERS[name](rows))
