"""Values of small tensors that follow from literals alone, for traces on tensors that hold no values.

A model may build a mask from `arange` and then ask `mask.all()`: on meta tensors the answer must come from elsewhere.
The recorded calls are run again on the CPU, on demand, as far as every operand is known and small; a model that
reads no value pays nothing. A known tensor into which an unknown value is written is forgotten, with its views.

Of a concatenation of known and unknown tensors the known part is followed through selections: it is kept twice, with
zeros and with ones for what is unknown, and what is equal in both is known.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Any

import torch

from extract.arguments import UnsupportedArgument, decode
from extract.canonical import is_random, written_operands
from extract.graph import Node, OpRef, Ref, TensorRef, TorchConstant, iter_refs
from extract.replay import run_node
from extract.spelling import UnknownCallable
from extract.tensor_identity import Lifted

# A tensor with more elements is not computed: what a program branches on is small.
MAX_ELEMENTS = 1 << 22
_UNINITIALISED = frozenset({"empty", "empty_like", "new_empty", "empty_strided", "new_empty_strided"})
# Ops that read of an operand only its shape and dtype: by op, the position of the first such operand.
_SHAPE_READ_FROM = {"expand_as": 1, "view_as": 1, "reshape_as": 1, "type_as": 1}
_SHAPE_READ_FROM |= {"zeros_like": 0, "ones_like": 0, "full_like": 0, "new_zeros": 0, "new_ones": 0, "new_full": 0}
_SHAPE_READ_FROM |= {"new_tensor": 0}
_JOINS = frozenset({"cat", "concat"})
_PARTS = frozenset(
    "split split_with_sizes chunk getitem select narrow unbind view reshape transpose squeeze unsqueeze".split()
)
_MAX_PARTIAL = 1 << 18
_CPU = torch.device("cpu")


class KnownValues:
    """Follows a growing list of recorded calls; `lifted` gives the values that constants bring along."""

    def __init__(self, nodes: Sequence[Node], lifted: Sequence[Lifted]) -> None:
        self._nodes = nodes
        self._lifted = lifted
        self._next = 0
        self._values: dict[Ref, torch.Tensor] = {}
        self._partial: dict[Ref, tuple[torch.Tensor, torch.Tensor]] = {}
        self._sharing: defaultdict[int, set[Ref]] = defaultdict(set)  # by address; the refs may have been forgotten
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
                self._keep(TensorRef(index), known.clone())
        self._num_lifted = len(self._lifted)
        for index in range(self._next, len(self._nodes)):
            self._follow(index, self._nodes[index])
        self._next = len(self._nodes)

    def _follow(self, index: int, node: Node) -> None:
        if self._follow_partial(index, node):
            return
        if self._is_computable(node):
            returned = self._execute(node)
            if returned is not None or not node.outputs:
                self._store(OpRef(index), returned)
                return
        for ref in written_operands(node):
            self._forget(ref)

    def _follow_partial(self, index: int, node: Node) -> bool:
        """Follow a tensor of which some places are known: an uninitialised one, or known and unknown ones joined.

        Known values may be written into it, and parts taken from it: a part all of whose places are known is known.
        Returns whether the call was one of these; any other call that takes such a tensor ends its being followed.
        """
        if node.op in _UNINITIALISED:
            made = self._execute(node) if _is_small(node) and not list(node.refs()) else None
            if isinstance(made, torch.Tensor):
                self._store_partial(OpRef(index), made, torch.zeros(made.shape, dtype=torch.bool))
            return True
        if node.op in _JOINS and not all(ref in self._values for ref in node.refs()):
            return self._follow_join(index, node)
        touched = [ref for ref in node.refs() if ref in self._partial]
        if not touched:
            return False
        others_known = all(ref in self._values for ref in node.refs() if ref != touched[0])
        is_part = node.op in _PARTS and not any(isinstance(arg, TorchConstant) for arg in node.args)
        if is_part and others_known and touched == [node.args[0]]:
            parts = [run_node(node, self._with(touched[0], half), _CPU) for half in self._partial[touched[0]]]
            self._store_partial(OpRef(index), parts[0], parts[1])
            return True
        if node.op == "setitem" and touched == [node.args[0]] and self._write(touched[0], node):
            return True
        for ref in touched:
            self._forget(ref)
        return False

    def _follow_join(self, index: int, node: Node) -> bool:
        """Follow a `cat` of known and unknown tensors; whether it was followed."""
        shapes = {ref: self._shape(ref) for ref in node.refs()}
        if not any(ref in self._values for ref in shapes) or sum(map(math.prod, shapes.values())) > _MAX_PARTIAL:
            return False
        dtype = getattr(torch, node.outputs[0].dtype)
        values = {ref: self._values.get(ref, torch.zeros(shape, dtype=dtype)) for ref, shape in shapes.items()}
        masks = {ref: torch.full(shape, ref in self._values) for ref, shape in shapes.items()}
        joined = [run_node(node, half.__getitem__, _CPU) for half in (values, masks)]
        self._store_partial(OpRef(index), joined[0], joined[1])
        return True

    def _write(self, target: Ref, node: Node) -> bool:
        """Write known values into a partly known tensor; whether they are known."""
        if any(ref not in self._values for arg in node.args[1:] for ref in iter_refs(arg)):
            return False
        tensor, mask = self._partial.pop(target)
        place, value = (decode(arg, self._values.__getitem__, _CPU) for arg in node.args[1:])
        tensor[place], mask[place] = value, True
        self._store_partial(target, tensor, mask)
        return True

    def _store_partial(self, ref: Ref, value: Any, mask: Any) -> None:
        if isinstance(value, torch.Tensor):
            if mask.all():
                self._keep(ref, value)
            else:
                self._partial[ref] = (value, mask)
                self._sharing[_address(value)].add(ref)
        elif isinstance(ref, OpRef):
            for position, halves in enumerate(zip(value, mask, strict=True)):
                self._store_partial(OpRef(ref.index, (*ref.path, position)), *halves)

    def _shape(self, ref: Ref) -> tuple[int, ...]:
        if isinstance(ref, TensorRef):
            return self._lifted[ref.index].meta.shape
        return next(output.shape for output in self._nodes[ref.index].outputs if output.path == ref.path)

    def _is_computable(self, node: Node) -> bool:
        if node.op in _UNINITIALISED or is_random(node):
            return False
        if not _is_small(node):
            return False
        by_shape = _SHAPE_READ_FROM.get(node.op)
        needed = node.refs() if by_shape is None else iter_refs(node.args[:by_shape])
        return all(ref in self._values for ref in needed)

    def _execute(self, node: Node) -> Any:
        lookup = self._values.__getitem__ if node.op not in _SHAPE_READ_FROM else self._value_or_shape
        try:
            with torch.no_grad():
                return run_node(node, lookup, _CPU)
        except (RuntimeError, TypeError, ValueError, IndexError, UnknownCallable, UnsupportedArgument):
            return None

    def _value_or_shape(self, ref: Ref) -> torch.Tensor:
        """Return the value of a ref, or where unknown a tensor of its shape and dtype that takes no memory."""
        known = self._values.get(ref)
        if known is not None:
            return known
        if isinstance(ref, TensorRef):
            meta = self._lifted[ref.index].meta
        else:
            meta = next(output for output in self._nodes[ref.index].outputs if output.path == ref.path)
        return torch.zeros((), dtype=getattr(torch, meta.dtype)).expand(meta.shape)

    def _store(self, ref: OpRef, returned: Any) -> None:
        if isinstance(returned, torch.Tensor):
            self._keep(ref, returned)
        elif isinstance(returned, tuple | list):
            for position, element in enumerate(returned):
                self._store(OpRef(ref.index, (*ref.path, position)), element)

    def _forget(self, ref: Ref) -> None:
        """Forget a tensor and all that share its memory."""
        partial = self._partial.get(ref)
        written = self._values.get(ref) if partial is None else partial[0]
        if written is None:
            return
        address = _address(written)
        for other in self._sharing.pop(address):
            if other in self._values and _address(self._values[other]) == address:
                del self._values[other]
            if other in self._partial and _address(self._partial[other][0]) == address:
                del self._partial[other]

    def _keep(self, ref: Ref, value: torch.Tensor) -> None:
        self._values[ref] = value
        self._sharing[_address(value)].add(ref)

    def _with(self, ref: Ref, value: torch.Tensor) -> Callable[[Ref], torch.Tensor]:
        return lambda asked: value if asked == ref else self._values[asked]


def _address(tensor: torch.Tensor) -> int:
    return tensor.untyped_storage().data_ptr()


def _is_small(node: Node) -> bool:
    return all(math.prod(output.shape) <= MAX_ELEMENTS for output in node.outputs)
