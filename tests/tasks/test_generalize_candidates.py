"""Which graph each subgraph is cut out of, by hand-made graphs that hold the same ones."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from storage.corpus import Corpus
from tasks.generalize import Candidate, Place, find_candidates
from tasks.mine import find_candidates as find_unmined
from tests.tasks.test_mine import add_graphs, learned, mine, some_graphs


@pytest.fixture
def corpus(tmp_path: Path) -> Iterator[Corpus]:
    with Corpus.create(tmp_path / "corpus") as made, ThreadPoolExecutor(1) as workers:
        add_graphs(made, some_graphs(20))
        mine(made, workers, [find_unmined(made)], learned(made))
        yield made


def places_of(candidates: list[Candidate]) -> dict[str, tuple[str, Place]]:
    found = [(one.signature_sha256, place) for one in candidates for place in one.places]
    assert len(found) == len({place.subgraph_sha256 for _, place in found})
    return {place.subgraph_sha256: (signature, place) for signature, place in found}


def test_each_subgraph_has_one_place_in_the_lowest_graph_that_holds_it(corpus: Corpus) -> None:
    found = places_of(find_candidates(corpus))
    rows = corpus.read("subgraphs").to_pylist()
    assert set(found) == {row["subgraph_sha256"] for row in rows}
    occurrences = corpus.read("occurrences").to_pylist()
    for subgraph, (signature, place) in found.items():
        if not place.is_single_op:
            holders = {row["signature_sha256"] for row in occurrences if row["subgraph_sha256"] == subgraph}
            assert (signature, place.num_graphs) == (min(holders), len(holders))


def test_graphs_that_it_ends_late_in_give_way(corpus: Corpus, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tasks.generalize.FEW_OPS", 0)
    occurrences = corpus.read("occurrences").to_pylist()
    found = places_of(find_candidates(corpus, kinds=("classical",)))
    assert found
    for subgraph, (_, place) in found.items():
        assert place.end == min(row["end"] for row in occurrences if row["subgraph_sha256"] == subgraph)


def test_what_is_passed_over_is_cut_out_of_the_next_graph_and_all_else_stays(corpus: Corpus) -> None:
    before = places_of(find_candidates(corpus))
    shared = [subgraph for subgraph, (_, place) in before.items() if place.num_graphs > 2]
    assert {before[subgraph][1].is_single_op for subgraph in shared} == {True, False}
    passed_over = [f"{subgraph} {before[subgraph][0]}" for subgraph in shared]
    after = places_of(find_candidates(corpus, passed_over=passed_over))
    assert {name: after[name] for name in after if name not in shared} == {
        name: before[name] for name in before if name not in shared
    }
    for subgraph in shared:
        assert after[subgraph][0] != before[subgraph][0]
        assert after[subgraph][1].num_graphs == before[subgraph][1].num_graphs - 1
