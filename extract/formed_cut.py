"""Ranges of a graph to their hashes and formed calls, without building the nodes of each cut.

A corpus holds millions of cuts of variants that are hashed and compared with their base, and never run. The calls of a
graph are formed once (`extract.call_forms`), and a cut takes over their forms: it costs the renaming of its operands.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from extract.call_forms import FormedCall, form_calls
from extract.cut import Cutter, Outline
from extract.graph import Graph, OpRef, Ref, TensorMeta, TensorRef
from extract.hashing import GraphHashes, hash_graph


@dataclass(frozen=True, slots=True)
class FormedCut:
    """Ops [start, end) of a graph: what they take and leave there, their calls and what they leave (`outputs`) with
    operands named as `extract.cut` names them, and the hashes of the cut."""

    start: int
    end: int
    outline: Outline
    calls: tuple[FormedCall, ...]
    outputs: tuple[Ref, ...]
    hashes: GraphHashes

    @property
    def tensors(self) -> tuple[TensorMeta, ...]:
        """The records of the operands, in the cut's order."""
        return self.outline.tensors


class FormedCutter:
    """Cuts ranges out of one graph; its calls are formed where not given."""

    def __init__(self, graph: Graph, calls: Sequence[FormedCall] | None = None) -> None:
        self.calls = form_calls(graph.nodes) if calls is None else calls
        self._cutter = Cutter(graph)

    def cut(self, start: int, end: int) -> FormedCut:
        """Return ops [start, end); raises `extract.cut.CutError` as `Cutter.cut` does."""
        outline = self._cutter.outline(start, end)
        renamed: dict[Ref, Ref] = {ref: TensorRef(place) for place, ref in enumerate(outline.operands)}

        def rename(ref: Ref) -> Ref:
            new = renamed.get(ref)
            if new is None:
                new = renamed[ref] = OpRef(ref.index - start, ref.path if isinstance(ref, OpRef) else ())
            return new

        calls = tuple([(form, [rename(ref) for ref in refs]) for form, refs in self.calls[start:end]])
        outputs = tuple([rename(ref) for ref in outline.results])
        hashes = hash_graph(Graph((), outline.tensors, outputs), calls)
        return FormedCut(start, end, outline, calls, outputs, hashes)


def form_graph(graph: Graph) -> FormedCut:
    """Return a whole graph in the form of a cut; the tensors that it does not use count as operands."""
    calls = tuple(form_calls(graph.nodes))
    operands = tuple([TensorRef(index) for index in range(len(graph.tensors))])
    outline = Outline(operands, graph.outputs, graph.tensors)
    return FormedCut(0, len(calls), outline, calls, graph.outputs, hash_graph(graph, calls))
