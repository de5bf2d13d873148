"""A kernel curve of another algorithm or torch takes the place of the one that a corpus holds, with its boundaries."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from storage.corpus import Corpus
from storage.dedup import KnownKeys, novel_rows
from storage.fsck import fsck
from storage.records import rows_to_table
from tests.tasks.test_mine import add_graphs, chain

OPS = ("relu", "tanh", "sin")


def curve_tables(signature_sha256: str, kernels: list[int], algorithm: str, **changed: Any) -> dict[str, pa.Table]:
    """Return a curve and one boundary for each of its steps up."""
    own: dict[str, Any] = {"signature_sha256": signature_sha256, "target": "cpu", "counter": "scheduler"}
    own |= {"is_exact": False}
    counts = {name: 0 for name in ("num_full", "num_flagged", "num_checked", "num_wrong")}
    row = {**own, "kernels": kernels, "is_calibrated": True, "torch_version": "2.14.1", **counts}
    steps = [
        {**own, "position": place + 1, "op": OPS[place], "step": after - before, "reason": algorithm, "detail": ""}
        for place, (before, after) in enumerate(zip([0, *kernels], kernels, strict=False))
        if after > before
    ]
    return {
        "kernel_curves": rows_to_table("kernel_curves", [row | {"algorithm": algorithm} | changed]),
        "fusion_boundaries": rows_to_table("fusion_boundaries", steps),
    }


def commit(corpus: Corpus, tables: dict[str, pa.Table]) -> None:
    corpus.commit(corpus.stage(tables, "curves"), "curves")


@pytest.fixture
def corpus(tmp_path: Path) -> Corpus:
    with Corpus.create(tmp_path / "corpus") as corpus:
        add_graphs(corpus, [chain(*OPS), chain(*OPS[:2], "exp")])
        first, second = corpus.read("graphs").column("signature_sha256").to_pylist()
        for signature in (first, second):
            commit(corpus, curve_tables(signature, [1, 2, 3], "old"))
    return Corpus.open(corpus.root, write=True)


def standing(corpus: Corpus) -> set[tuple[str, str, tuple[int, ...]]]:
    """Return each curve's graph and algorithm, with the positions of its boundaries; those must all be its own."""
    steps = corpus.read("fusion_boundaries").to_pylist()
    found = set()
    for row in corpus.read("kernel_curves").to_pylist():
        own = [step for step in steps if step["signature_sha256"] == row["signature_sha256"]]
        assert {step["reason"] for step in own} <= {row["algorithm"]}
        found.add((row["signature_sha256"], row["algorithm"], tuple(sorted(step["position"] for step in own))))
    return found


@pytest.mark.parametrize("changed", [{"algorithm": "new"}, {"algorithm": "old", "torch_version": "2.11.0"}])
def test_a_curve_made_otherwise_replaces_the_stored_one(corpus: Corpus, changed: dict[str, str]) -> None:
    first, second = corpus.read("graphs").column("signature_sha256").to_pylist()
    with corpus:
        commit(corpus, curve_tables(first, [1, 1, 1], **changed))
        assert standing(corpus) == {(first, changed["algorithm"], (1,)), (second, "old", (1, 2, 3))}
        number = corpus.manifest().number
        commit(corpus, curve_tables(first, [1, 1, 1], **changed))
        assert corpus.manifest().number == number
        commit(corpus, curve_tables(second, [0, 0, 0], **changed))
        assert standing(corpus) == {(first, changed["algorithm"], (1,)), (second, changed["algorithm"], ())}
    assert not fsck(Corpus.open(corpus.root), deep=True)


def test_the_last_of_two_runs_to_commit_stands(corpus: Corpus) -> None:
    first, second = corpus.read("graphs").column("signature_sha256").to_pylist()
    with corpus:
        staged = corpus.stage(curve_tables(first, [1, 1, 1], "new"), "curves")
        commit(corpus, curve_tables(first, [1, 1, 2], "newer"))
        corpus.commit(staged, "curves")
        assert standing(corpus) == {(first, "new", (1,)), (second, "old", (1, 2, 3))}


def test_a_curve_of_the_same_making_stays(corpus: Corpus) -> None:
    first, second = corpus.read("graphs").column("signature_sha256").to_pylist()
    with corpus:
        commit(corpus, curve_tables(first, [1, 1, 2], "old"))
        assert standing(corpus) == {(first, "old", (1, 2, 3)), (second, "old", (1, 2, 3))}


def test_boundaries_come_with_their_curve() -> None:
    tables = curve_tables("0" * 64, [1, 1, 1], "new")
    with pytest.raises(ValueError, match="with their curves only"):
        novel_rows({"fusion_boundaries": tables["fusion_boundaries"]}, KnownKeys())
