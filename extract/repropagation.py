"""A recorded program at other sizes of its inputs, without the model: every call run again, sizes in literals found.

Each call is run on meta tensors of the new sizes, through the allowlist, beside what was recorded of the old ones.
Where a size in a literal may have become several (`extract.size_choices`), the likely one comes first; when a later
call fails, or returns another structure, rank or dtype, the last choice on its way is taken back, at most `_MAX_TRIALS`
times.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any, Final

import torch

from extract.arguments import UnsupportedArgument
from extract.failure import describe
from extract.graph import Graph, Node, OpRef, OutputMeta, Ref, TensorMeta, TensorRef
from extract.replay import run_node
from extract.shape_memo import ShapeMemo
from extract.size_choices import SizeChanges
from extract.size_literals import with_sizes
from extract.spelling import UnknownCallable
from extract.statistics import dtype_name

_META = torch.device("meta")
_MAX_TRIALS: Final = 40
_MAX_OTHER_TRIALS: Final = 8


class RepropagationError(Exception):
    """The program cannot be brought to other sizes; `op_index` is the call at which that showed."""

    def __init__(self, op_index: int, detail: str) -> None:
        super().__init__(op_index, detail)
        self.op_index = op_index
        self.detail = detail


def repropagate(graph: Graph, tensors: Sequence[TensorMeta]) -> Graph:
    """Return the program over other tensors: the same ones at other sizes or dtypes, in the same order.

    It ran on meta tensors. Costs one replay, and one more for each choice taken back. Raises `RepropagationError`
    with what stood in the way furthest into the program.
    """
    walk, choices = _search(graph, tensors, {}, _MAX_TRIALS)
    _refuse_open(graph, tensors, choices, walk)
    return Graph(tuple(walk.nodes), tuple(tensors), graph.outputs)


def _search(
    graph: Graph, tensors: Sequence[TensorMeta], fixed: Mapping[int, int], max_trials: int
) -> tuple[_Walk, dict[int, int]]:
    """Return the first attempt that runs to the end with these choices, and all its choices."""
    choices = dict(fixed)
    furthest = RepropagationError(-1, "nothing was tried")
    for _ in range(max_trials):
        walk = _Walk(graph, tensors, choices)
        try:
            walk.run()
        except RepropagationError as error:
            furthest = max(furthest, error, key=lambda failed: failed.op_index)
            if not _take_back(graph, walk, choices, error.op_index, fixed):
                break
            continue
        return walk, choices
    raise furthest


def _refuse_open(graph: Graph, tensors: Sequence[TensorMeta], choices: Mapping[int, int], walk: _Walk) -> None:
    """Refuse a program that also runs with another way of a call whose own text leaves it open."""
    for op in walk.open:
        for way in range(walk.num_ways[op]):
            if way == choices.get(op, 0):
                continue
            try:
                _search(graph, tensors, {op: way}, _MAX_OTHER_TRIALS)
            except RepropagationError:
                continue
            raise RepropagationError(op, f"{graph.nodes[op].target}: more than one size runs")


def _take_back(graph: Graph, walk: _Walk, choices: dict[int, int], failed: int, fixed: Container[int]) -> bool:
    """Go on to the next way of a call that has one left: the last that the failed one depends on, else the last."""
    ancestors = _ancestors(graph, failed)
    left = [op for op, count in walk.num_ways.items() if op not in fixed and choices.get(op, 0) + 1 < count]
    if not left:
        return False
    op = max(left, key=lambda op: (op in ancestors, op))
    choices[op] = choices.get(op, 0) + 1
    for later in [other for other in choices if other > op and other not in fixed]:
        del choices[later]
    return True


def _ancestors(graph: Graph, op: int) -> set[int]:
    found, pending = set[int](), [op]
    while pending:
        index = pending.pop()
        if index not in found:
            found.add(index)
            pending.extend([ref.index for ref in graph.nodes[index].refs() if isinstance(ref, OpRef)])
    return found


class _Walk:
    """One attempt: the calls in order, with the way chosen for each that has several."""

    def __init__(self, graph: Graph, tensors: Sequence[TensorMeta], choices: Mapping[int, int]) -> None:
        self.nodes: list[Node] = []
        self.num_ways: dict[int, int] = {}
        self.open: list[int] = []
        self._graph = graph
        self._choices = choices
        self._operands = [_meta_tensor(meta) for meta in tensors]
        self._values: list[Any] = []
        self._keeps_dtypes = all(old.dtype == new.dtype for old, new in zip(graph.tensors, tensors, strict=True))
        self._changes = SizeChanges(graph, lambda ref: tuple(self._lookup(ref).shape))
        for old, new in zip(graph.tensors, tensors, strict=True):
            self._changes.see_input(old.shape, new.shape)

    def run(self) -> None:
        """Run all calls; raises `RepropagationError`."""
        with torch.no_grad():
            for index, node in enumerate(self._graph.nodes):
                self._step(index, node)

    def _step(self, index: int, node: Node) -> None:
        ways = self._changes.ways(node)
        if not ways:
            raise RepropagationError(index, f"{node.target}: its sizes do not follow from its operand's")
        untold = self._changes.untold(node)
        if untold is not None:
            raise RepropagationError(index, f"{node.target}: {untold}")
        if len(ways) > 1:
            self.num_ways[index] = len(ways)
            self.open.extend([index] if self._changes.is_open(node) else [])
        way = ways[min(self._choices.get(index, 0), len(ways) - 1)]
        changed = replace(with_sizes(node, way.values), outputs=())
        try:
            value = run_node(changed, self._lookup, _META, _memo())
        except (RuntimeError, ValueError, TypeError, IndexError, UnknownCallable, UnsupportedArgument) as error:
            raise RepropagationError(index, f"{node.target}: {describe(error)}") from error
        outputs = tuple(_describe(value, ()))
        self._check_alike(index, node, outputs)
        self._values.append(value)
        self.nodes.append(replace(changed, outputs=outputs))
        self._changes.note(node, way, outputs)

    def _check_alike(self, index: int, node: Node, outputs: Sequence[OutputMeta]) -> None:
        """Refuse a call that returns other than before; what reads values returns nothing on meta tensors."""
        made, recorded = [
            [(output.path, len(output.shape), output.dtype if self._keeps_dtypes else "") for output in some]
            for some in (outputs, node.outputs)
        ]
        if made != recorded:
            raise RepropagationError(index, f"{node.target} returns {made}, not {recorded}"[:500])

    def _lookup(self, ref: Ref) -> Any:
        if isinstance(ref, TensorRef):
            return self._operands[ref.index]
        value = self._values[ref.index]
        for step in ref.path:
            value = value[step]
        return value


def _meta_tensor(meta: TensorMeta) -> torch.Tensor:
    return torch.empty_strided(meta.shape, meta.stride, dtype=getattr(torch, meta.dtype), device=_META)


def _describe(value: Any, path: tuple[int, ...]) -> Iterator[OutputMeta]:
    if isinstance(value, torch.Tensor):
        yield OutputMeta(path, tuple(value.shape), value.stride(), dtype_name(value.dtype))
    elif isinstance(value, tuple | list):
        for position, element in enumerate(value):
            yield from _describe(element, (*path, position))


@lru_cache(maxsize=1)
def _memo() -> ShapeMemo:
    return ShapeMemo()
