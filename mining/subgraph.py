"""A recurring part of graphs, and where it occurs: the nouns of mining, and how ranges of a graph become them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import takewhile
from typing import Final

from extract.canonical_spelling import canonical_graph
from extract.cut import PURE_VIEW_OPS, CutError, Cutter
from extract.graph import Graph
from extract.hashing import hash_graph
from extract.text import render

CLASSICAL: Final = "classical"
SINGLE_OP: Final = "single_op"
FUSIBLE: Final = "fusible"
KINDS: Final = (CLASSICAL, SINGLE_OP, FUSIBLE)


@dataclass(frozen=True, slots=True)
class Subgraph:
    """One program; every field follows from `subgraph_sha256`, the `graph_sha256` of the cut. `num_inputs` counts
    operands from outside, weights too; `model_py` is its text in canonical spelling."""

    subgraph_sha256: str
    structure_sha256: str
    op_names: tuple[str, ...]
    num_inputs: int
    num_outputs: int
    is_connected: bool
    model_py: str

    @property
    def num_trailing_views(self) -> int:
        """Ops at the end that only view what is before them, and launch nothing alone."""
        return sum(1 for _ in takewhile(PURE_VIEW_OPS.__contains__, reversed(self.op_names)))


@dataclass(frozen=True, slots=True)
class Occurrence:
    """A subgraph at ops [start, end) of a graph."""

    subgraph_sha256: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Exclusion:
    """Ops [start, end) of a graph that are no subgraph, with `CutError`'s reason, or `too_long`."""

    start: int
    end: int
    reason: str
    detail: str


@dataclass(frozen=True, slots=True)
class Mined:
    """What the ranges of one graph gave; `subgraphs` holds each once, by first occurrence."""

    subgraphs: tuple[Subgraph, ...]
    occurrences: tuple[Occurrence, ...]
    exclusions: tuple[Exclusion, ...]


def cut_ranges(graph: Graph, ranges: Iterable[tuple[int, int]]) -> Mined:
    """Cut [start, end) ranges out of a graph; each becomes an occurrence or an exclusion."""
    cutter = Cutter(graph)
    subgraphs: dict[str, Subgraph] = {}
    occurrences: list[Occurrence] = []
    exclusions: list[Exclusion] = []
    for start, end in ranges:
        try:
            piece = cutter.cut(start, end)
        except CutError as error:
            exclusions.append(Exclusion(start, end, error.reason, error.detail))
            continue
        hashes = hash_graph(piece.graph)
        if hashes.graph_sha256 not in subgraphs:
            subgraphs[hashes.graph_sha256] = Subgraph(
                hashes.graph_sha256,
                hashes.structure_sha256,
                piece.graph.op_names,
                len(piece.operands),
                len(piece.results),
                cutter.is_connected(start, end),
                render(canonical_graph(piece.graph)),
            )
        occurrences.append(Occurrence(hashes.graph_sha256, start, end))
    return Mined(tuple(subgraphs.values()), tuple(occurrences), tuple(exclusions))
