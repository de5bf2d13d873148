"""Ranges of a graph to their hashes and formed calls, without building the nodes of each cut.

A corpus holds millions of cuts of variants that are hashed and compared with their base, and never run. The calls of a
graph are formed once (`extract.call_forms`), and a cut takes over their forms: it costs the renaming of its operands.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from extract.call_forms import FormedCall, form_calls
from extract.cut import Cutter
from extract.graph import Graph, OpRef, Ref, TensorMeta, TensorRef
from extract.hashing import GraphHashes, hash_graph


@dataclass(frozen=True, slots=True)
class FormedCut:
    """Ops [start, end) of a graph: their calls, with operands named as `extract.cut` names them, the tensors that they
    take, the values that they leave, and the hashes of the cut."""

    start: int
    end: int
    calls: tuple[FormedCall, ...]
    tensors: tuple[TensorMeta, ...]
    outputs: tuple[Ref, ...]
    hashes: GraphHashes


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
        return FormedCut(start, end, calls, outline.tensors, outputs, hashes)


def form_graph(graph: Graph) -> FormedCut:
    """Return a graph that was cut before in the form of a cut."""
    calls = tuple(form_calls(graph.nodes))
    return FormedCut(0, len(calls), calls, graph.tensors, graph.outputs, hash_graph(graph, calls))
