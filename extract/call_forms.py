"""Calls to their forms: calls that differ in their operands alone have one, and what is made of it is made once.

Programs repeat their blocks, and corpora their programs. A form is a call with slots in the place of its operands: the
n-th is written `TensorRef(-1 - n)`, which no graph holds.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar

from extract.graph import Arg, ArgList, ArgSlice, Node, OpRef, Ref, TensorRef, map_refs

Form = tuple[str, ...]
Made = TypeVar("Made")

_HOLDERS: frozenset[type] = frozenset({tuple, ArgList, ArgSlice})


def call_form(node: Node) -> tuple[Form, list[Ref]]:
    """Return what a call is but for its operands, and these in argument order, repeats included."""
    refs: list[Ref] = []
    form = [node.op, node.target]
    for arg in node.args:
        form.append(_form_of(arg, refs))
    for name, arg in node.kwargs:
        form.append(name)
        form.append(_form_of(arg, refs))
    form.append(str(len(node.kwargs)))
    return tuple(form), refs


def with_slots(node: Node) -> Node:
    """Return a call with slots in the place of its operands."""
    refs: list[Ref] = []
    args = tuple([_slotted(arg, refs) for arg in node.args])
    kwargs = tuple([(name, _slotted(arg, refs)) for name, arg in node.kwargs])
    return Node(node.op, node.target, args, kwargs)


def fill_slots(value: Arg, refs: Sequence[Ref]) -> Arg:
    """Return a value made of a form with operands in the place of its slots."""
    return map_refs(value, lambda slot: refs[slot_number(slot)])


def slot_number(slot: Ref) -> int:
    """Return which operand goes into a slot."""
    return -1 - slot.index


class FormMemo(Generic[Made]):
    """What `make` returns for a call with slots, by form; forgets all when full."""

    def __init__(self, make: Callable[[Node], Made], max_forms: int = 50_000) -> None:
        self._make = make
        self._max_forms = max_forms
        self._made: dict[Form, Made] = {}

    def find(self, form: Form, node: Node) -> Made:
        """Return what was made of `form`, which is that of `node`."""
        known = self._made.get(form)
        if known is None:
            if len(self._made) >= self._max_forms:
                self._made.clear()
            known = self._made[form] = self._make(with_slots(node))
        return known


def _form_of(arg: Any, refs: list[Ref]) -> str:
    kind = type(arg)
    if kind is OpRef or kind is TensorRef:
        refs.append(arg)
        return "@"
    text = repr(arg)
    return repr(_slotted(arg, refs)) if kind in _HOLDERS and "Ref(" in text else text


def _slotted(arg: Arg, refs: list[Ref]) -> Arg:
    def slot(ref: Ref) -> Ref:
        refs.append(ref)
        return TensorRef(-len(refs))

    return map_refs(arg, slot)
