"""The first calls of a recorded program, where a trace of it at other sizes may end.

What lies behind the last op that anybody asks for costs as much to trace as the rest, and a model of 50,000 ops may be
asked for its first 200. Calls are meant as recorded, those that nobody uses too: which of them stay is known from the
program's first trace alone, which runs to the end.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from extract.assembly import live_nodes
from extract.graph import Graph, Node, OpRef, Ref

_MOST: Final = 0.75
"""A longer part is traced whole: little is saved, and all of it is known."""


class OpsDiffer(Exception):
    """A run did not begin with the calls of the prefix."""


class EndOfPrefix(BaseException):
    """Ends a run at its last wanted call; no Exception, which a model might catch."""


@dataclass(frozen=True, slots=True)
class Prefix:
    """The op names of the first calls, and which of their results the rest of the program uses."""

    op_names: tuple[str, ...]
    results: tuple[OpRef, ...]

    def check(self, calls: Sequence[Node]) -> None:
        """Raise `OpsDiffer` unless the calls are those of the prefix, by name."""
        if tuple([call.op for call in calls]) != self.op_names:
            raise OpsDiffer


def find_prefix(calls: Sequence[Node], results: Sequence[Ref], num_ops: int) -> Prefix | None:
    """Return the part of a program (its calls, and what it returns) that ends with the `num_ops`th of the calls that
    stay; None where that is most of it."""
    live = live_nodes(calls, results)
    kept = [index for index, is_live in enumerate(live) if is_live]
    if num_ops > _MOST * len(kept):
        return None
    end = kept[num_ops - 1] + 1
    used = _used_later([calls[index] for index in kept[num_ops:]], results, end)
    return Prefix(tuple([call.op for call in calls[:end]]), used)


def first_ops(graph: Graph, num_ops: int) -> Graph:
    """Return the first ops of a graph, which return what the others use of them."""
    used = _used_later(graph.nodes[num_ops:], graph.outputs, num_ops)
    return Graph(graph.nodes[:num_ops], graph.tensors, used)


def _used_later(later: Sequence[Node], results: Sequence[Ref], end: int) -> tuple[OpRef, ...]:
    """Return what later calls and the return take of what the calls before `end` made, by first use."""
    refs = (*(ref for node in later for ref in node.refs()), *results)
    return tuple(dict.fromkeys(ref for ref in refs if isinstance(ref, OpRef) and ref.index < end))
