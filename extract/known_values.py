"""Values of small tensors that follow from literals alone, for traces on tensors that hold no values.

A model may build a mask from `arange` and then ask `mask.all()`: on meta tensors the answer must come from elsewhere.
The recorded calls are run again on the CPU, on demand, as far as every operand is known and small; a model that
reads no value pays nothing. A known tensor into which an unknown value is written is forgotten, with its views.
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
_CPU = torch.device("cpu")


class KnownValues:
    """Follows a growing list of recorded calls; `lifted` gives the values that constants bring along."""

    def __init__(self, nodes: Sequence[Node], lifted: Sequence[Lifted]) -> None:
        self._nodes = nodes
        self._lifted = lifted
        self._next = 0
        self._values: dict[Ref, torch.Tensor] = {}
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
        for ref in mutated_operands(node):
            self._forget(ref)

    def _is_computable(self, node: Node) -> bool:
        if node.op in _UNINITIALISED or is_random(node):
            return False
        if any(math.prod(output.shape) > MAX_ELEMENTS for output in node.outputs):
            return False
        return all(ref in self._values for ref in node.refs())

    def _execute(self, node: Node) -> Any:
        try:
            with torch.no_grad():
                return run_node(node, self._values.__getitem__, _CPU)
        except (RuntimeError, TypeError, ValueError, IndexError, UnknownCallable, UnsupportedArgument):
            return None

    def _store(self, ref: OpRef, returned: Any) -> None:
        if isinstance(returned, torch.Tensor):
            self._values[ref] = returned
        elif isinstance(returned, tuple | list):
            for position, element in enumerate(returned):
                self._store(OpRef(ref.index, (*ref.path, position)), element)

    def _forget(self, ref: Ref) -> None:
        written = self._values.get(ref)
        if written is None:
            return
        storage = written.untyped_storage().data_ptr()
        for other in [key for key, value in self._values.items() if value.untyped_storage().data_ptr() == storage]:
            del self._values[other]
