"""The comparison of foldings: what the peer finds, which tokens are real, what a run prints."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks import folding as benchmark
from benchmarks.folding import abbreviate
from benchmarks.folding_side import is_lossless
from benchmarks.folding_tokens import read_sequences, take_tokens, vary
from benchmarks.peers import conv_folding
from extract.graph import Graph
from mining.folding import FoldingConfig, fold
from storage.corpus import Corpus
from tests.storage.sample_traces import batch, small_trace


def sequences_of(rng: random.Random, num_sequences: int) -> list[list[str]]:
    """Runs of motifs and noise, so that windows repeat and overlap."""
    motifs = [[rng.choice("abcdef") for _ in range(rng.randint(1, 9))] for _ in range(4)]
    return [
        [op for _ in range(rng.randint(0, 9)) for op in [*rng.choice(motifs) * rng.randint(1, 4), rng.choice("abcdef")]]
        for _ in range(num_sequences)
    ]


def renamed(graph: Graph, ops: Sequence[str]) -> Graph:
    """A graph with other ops in the places of its own."""
    pairs = zip(graph.nodes, ops, strict=True)
    return replace(graph, nodes=tuple(replace(node, op=op, target=f"torch.{op}") for node, op in pairs))


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    """Ten graphs of distinct op names, the first of them once more with other shapes."""
    traces = []
    for number, ops in enumerate(sequences_of(random.Random(3), 10)):
        trace = small_trace(f"m{number}", ops=len(ops) + 2)
        traces.append(replace(trace, graph=renamed(trace.graph, [*ops, "g", f"h{number}"])))
    first = traces[0].graph
    again = small_trace("again", 8, len(first.nodes))
    traces.append(replace(again, graph=renamed(again.graph, first.op_names)))
    with Corpus.create(tmp_path / "corpus") as opened:
        opened.commit(opened.stage(batch(traces), "run"), "run")
    return tmp_path / "corpus"


@pytest.mark.parametrize("unique", ["numpy", "polars"])
def test_the_peer_without_overlaps_folds_as_ours_does(unique: conv_folding.Unique) -> None:
    rng = random.Random(1)
    for max_length in (2, 5, 64):
        config = FoldingConfig(max_length=max_length)
        for _ in range(10):
            sequences = sequences_of(rng, 6)
            made = conv_folding.fold(sequences, config, unique, disjoint=True)
            assert made.grammar.patterns == fold(sequences, config).patterns
            assert is_lossless(made.grammar, made.folded, sequences)


def test_the_peer_counts_windows_that_overlap() -> None:
    made = conv_folding.fold([["a"] * 100], FoldingConfig(num_folds=1))
    (pattern,) = made.grammar.patterns
    assert (pattern.body, pattern.count, made.num_windows) == (("a",) * 51, 1, (50,))
    assert made.folded == ((0, *["a"] * 49),)
    assert fold([["a"] * 100], FoldingConfig(num_folds=1)).patterns[0].body != pattern.body


def test_both_uniques_of_the_peer_count_alike() -> None:
    sequences = sequences_of(random.Random(2), 40)
    assert conv_folding.fold(sequences, FoldingConfig(), "numpy") == conv_folding.fold(sequences, FoldingConfig())


@pytest.mark.parametrize("sequences", [[], [[]], [["a"]], [["a", "b"], ["c"]], [["a"], ["b"], ["a"], ["b"]]], ids=str)
def test_the_peer_ends_where_nothing_repeats_within_graphs(sequences: Sequence[Sequence[str]]) -> None:
    made = conv_folding.fold(sequences, FoldingConfig())
    assert made.grammar.patterns == ()
    assert made.folded == tuple(map(tuple, sequences))


def test_real_tokens_are_those_of_distinct_graphs_and_come_first(corpus: Path) -> None:
    real = read_sequences([corpus, corpus])
    assert len(real) == len({sequence[-1] for sequence in real}) == 10
    num_real = sum(map(len, real))
    taken, num_taken = take_tokens(real, num_real - 1, seed=0)
    assert (taken, num_taken) == ([*real[:-1], real[-1][:-1]], num_real - 1)
    taken, num_taken = take_tokens(real, 5 * num_real, seed=0)
    assert (sum(map(len, taken)), num_taken, taken[: len(real)]) == (5 * num_real, num_real, real)
    assert taken == take_tokens(real, 5 * num_real, seed=0)[0] != take_tokens(real, 5 * num_real, seed=1)[0]


def test_a_variation_is_spliced_repeated_and_dropped() -> None:
    one, other = [f"a{n}" for n in range(1000)], [f"b{n}" for n in range(1000)]
    made = vary(random.Random(4), one, other)
    kinds = [op[0] for op in made]
    head, tail = [op for op in one if op in made], [op for op in other if op in made]
    assert 0 < len(head) < 1000 > len(tail) > 0
    assert kinds[0] == "a"
    assert kinds[-1] == "b"
    assert len(set(made)) < len(made)
    assert 0 < sum(op not in made for op in one[: int(head[-1][1:])]) < 100


def test_a_run_prints_the_folds_and_ends_with_the_ratio(
    corpus: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ["--corpus", str(corpus), "--tokens", "200", "--sizes", "300,600", "--folds", "3", "--repeats", "1"]
    monkeypatch.setattr("sys.argv", ["folding", *options, "--json"])
    benchmark.main()
    *figures, numpy_ratio, disjoint_ratio, ratio = capsys.readouterr().out.splitlines()
    told = json.loads("\n".join(figures))
    assert (told["num_tokens"], told["ours_num_folds"], told["conv_disjoint_num_same_folds"]) == (200, 3, 3)
    assert told["ours_600_num_real_tokens"] == sum(map(len, read_sequences([corpus]))) < 600
    assert told["ours_is_lossless"] and told["conv_is_lossless"] and told["ours_600_is_lossless"]
    assert told["scaling"] > 0 < told["ours_600_peak_rss_mib"]
    assert numpy_ratio.startswith("ratio_conv_numpy=")
    assert disjoint_ratio.startswith("ratio_conv_disjoint=")
    assert ratio == f"ratio={told['ratio']:.4g}"


def test_a_folder_that_is_no_corpus_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["folding", "--corpus", str(tmp_path / "absent")])
    with pytest.raises(SystemExit) as stopped:
        benchmark.main()
    assert stopped.value.code == 2
    assert f"{tmp_path / 'absent'} is not a corpus" in capsys.readouterr().err


def test_a_repetition_is_abbreviated_to_its_period() -> None:
    assert abbreviate(["conv2d", "relu"] * 3) == "3 x (conv2d relu)"
    assert abbreviate(["a", "b", "a"]) == "a b a"
    assert len(abbreviate([f"op{n}" for n in range(99)])) <= 90
