"""Values of small tensors that follow from literals alone, for traces on tensors that hold no values.

A model may build a mask from `arange` and then ask `mask.all()`: on meta tensors the answer must come from elsewhere.
The recorded calls are run again on the CPU, on demand, as far as every operand is known and small; a model that
reads no value pays nothing. A known tensor into which an unknown value is written is forgotten, with its views.

Of a concatenation of known and unknown tensors the known part is followed through selections: it is kept twice, with
zeros and with ones for what is unknown, and what is equal in both is known.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch

from extract.arguments import UnsupportedArgument
from extract.canonical import is_random, mutated_operands
from extract.graph import Node, OpRef, Ref, TensorRef
from extract.replay import run_node
from extract.spelling import UnknownCallable
from extract.tensor_identity import Lifted

# A tensor with more elements is not computed: what a program branches on is small.
MAX_ELEMENTS = 1 << 22
_UNINITIALISED = frozenset({"empty", "empty_like", "new_empty", "empty_strided", "new_empty_strided"})
# Calls that ask no more of one operand (its position among the arguments) than shape and dtype.
_SHAPE_ONLY_OPERAND = {
    **dict.fromkeys(("full_like", "ones_like", "zeros_like", "new_full", "new_ones", "new_zeros", "new_tensor"), 0),
    **dict.fromkeys(("expand_as", "reshape_as", "type_as", "view_as"), 1),
}
# Calls that take elements from one operand, the first, and compute with none.
_SELECTIONS = frozenset("getitem split split_with_sizes chunk narrow select unbind squeeze unsqueeze".split())
_CPU = torch.device("cpu")


class KnownValues:
    """Follows a growing list of recorded calls; `lifted` gives the values that constants bring along."""

    def __init__(self, nodes: Sequence[Node], lifted: Sequence[Lifted]) -> None:
        self._nodes = nodes
        self._lifted = lifted
        self._next = 0
        self._values: dict[Ref, torch.Tensor] = {}
        self._partial: dict[Ref, tuple[torch.Tensor, torch.Tensor]] = {}
        self._num_lifted = 0

    def of(self, ref: Ref) -> torch.Tensor | None:
        """Return the value of a ref as it is after the last recorded call, None when unknown."""
        self._advance()
        return self._values.get(ref)

    def run(self, node: Node) -> Any:
        """Return what a call not yet recorded gives on known values; None when an operand is unknown."""
        self._advance()
        return self._execute(node) if self._is_computable(node) else None

    def _advance(self) -> None:
        for index in range(self._num_lifted, len(self._lifted)):
            known = self._lifted[index].known
            if known is not None and known.numel() <= MAX_ELEMENTS:
                self._values[TensorRef(index)] = known.clone()
        self._num_lifted = len(self._lifted)
        for index in range(self._next, len(self._nodes)):
            self._follow(index, self._nodes[index])
        self._next = len(self._nodes)

    def _follow(self, index: int, node: Node) -> None:
        if self._is_computable(node):
            returned = self._execute(node)
            if returned is not None or not node.outputs:
                self._store(OpRef(index), returned)
                return
        elif node.op == "cat" or node.op in _SELECTIONS:
            self._follow_partially(OpRef(index), node)
        else:
            for ref in [ref for ref in node.refs() if ref in self._partial]:
                self._forget(ref)  # what this call returns may be a view that is written into later
        for ref in mutated_operands(node):
            self._forget(ref)

    def _follow_partially(self, ref: OpRef, node: Node) -> None:
        """Keep what is known of a concatenation, or of what is selected from one."""
        refs = list(node.refs())
        if not _is_small(node) or not refs:
            return
        if node.op == "cat":
            if not any(operand in self._values or operand in self._partial for operand in refs):
                return
        elif refs[0] not in self._partial or not all(operand in self._values for operand in refs[1:]):
            return
        pair = [self._execute(node, filled) for filled in (0, 1)]
        if pair[0] is not None and pair[1] is not None:
            self._store_pair(ref, pair[0], pair[1])

    def _store_pair(self, ref: OpRef, zeros: Any, ones: Any) -> None:
        if isinstance(zeros, torch.Tensor):
            if torch.equal(zeros, ones):
                self._values[ref] = zeros
            else:
                self._partial[ref] = (zeros, ones)
        elif isinstance(zeros, tuple | list):
            for position, (zero, one) in enumerate(zip(zeros, ones, strict=True)):
                self._store_pair(OpRef(ref.index, (*ref.path, position)), zero, one)

    def _is_computable(self, node: Node) -> bool:
        if is_random(node) or (node.op in _UNINITIALISED and not _is_counted(node)):
            return False
        if not _is_small(node):
            return False
        shaping = _shaping_operand(node)
        return all(ref in self._values or ref == shaping for ref in node.refs())

    def _execute(self, node: Node, filled: int | None = None) -> Any:
        """Run a call on known values, None when it raises; what is unknown is `filled` with a number where given."""
        shaping = _shaping_operand(node)

        def lookup(ref: Ref) -> torch.Tensor:
            if ref in self._values:
                return self._values[ref]
            if filled is not None and ref in self._partial:
                return self._partial[ref][filled]
            if filled is None and ref != shaping:
                raise KeyError(ref)
            return self._stand_in(ref, filled or 0)

        try:
            with torch.no_grad():
                returned = run_node(node, lookup, _CPU)
        except (RuntimeError, TypeError, ValueError, IndexError, UnknownCallable, UnsupportedArgument):
            return None
        return returned.zero_() if node.op in _UNINITIALISED else returned

    def _stand_in(self, ref: Ref, filled: int) -> torch.Tensor:
        """Return a tensor of an unknown one's shape and dtype, full of one number, of the memory of one element."""
        if isinstance(ref, TensorRef):
            meta = self._lifted[ref.index].meta
        else:
            meta = next(output for output in self._nodes[ref.index].outputs if output.path == ref.path)
        return torch.full((), filled, dtype=getattr(torch, meta.dtype)).expand(meta.shape)

    def _store(self, ref: OpRef, returned: Any) -> None:
        if isinstance(returned, torch.Tensor):
            self._values[ref] = returned
        elif isinstance(returned, tuple | list):
            for position, element in enumerate(returned):
                self._store(OpRef(ref.index, (*ref.path, position)), element)

    def _forget(self, ref: Ref) -> None:
        """Forget a tensor and all that shares its memory."""
        partial = self._partial.get(ref)
        written = self._values.get(ref) if partial is None else partial[0]
        if written is None:
            return
        storage = written.untyped_storage().data_ptr()
        for other in [key for key, value in self._values.items() if value.untyped_storage().data_ptr() == storage]:
            del self._values[other]
        for other in [key for key, pair in self._partial.items() if pair[0].untyped_storage().data_ptr() == storage]:
            del self._partial[other]


def _is_small(node: Node) -> bool:
    return all(math.prod(output.shape) <= MAX_ELEMENTS for output in node.outputs)


def _is_counted(node: Node) -> bool:
    """Tell whether a call returns integers or bools alone.

    Memory of theirs that a program fills piece by piece is followed from zeros; of floats it is not worth it.
    """
    return all(not getattr(torch, output.dtype).is_floating_point for output in node.outputs)


def _shaping_operand(node: Node) -> Ref | None:
    """Return the operand of which a call asks no values, where there is one."""
    position = _SHAPE_ONLY_OPERAND.get(node.op)
    operand = node.args[position] if position is not None and position < len(node.args) else None
    return operand if isinstance(operand, TensorRef | OpRef) else None
