"""Calls to their forms: calls that differ in their operands alone have one, and what is made of it is made once.

Programs repeat their blocks, and corpora their programs. A form is a call with slots in the place of its operands: the
n-th is written `TensorRef(-1 - n)`, which no graph holds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from extract.graph import Arg, ArgList, ArgSlice, Node, OpRef, Ref, TensorRef, map_refs

Made = TypeVar("Made")


@dataclass(frozen=True, slots=True, eq=False)
class Form:
    """What a call is but for its operands and outputs: `call` has slots in the place of these operands.

    Calls of one form share one object, so that asking a memory for it costs no comparison of its parts.
    """

    call: Node


FormedCall = tuple[Form, list[Ref]]
"""A call as its form and its operands, in argument order, repeats included."""

_HOLDERS: frozenset[type] = frozenset({tuple, ArgList, ArgSlice})
_MAX_FORMS = 50_000
_forms: dict[tuple[str, ...], Form] = {}


def call_form(node: Node) -> FormedCall:
    """Return what a call is but for its operands, and these."""
    refs: list[Ref] = []
    parts = [node.op, node.target]
    for arg in node.args:
        kind = type(arg)
        if kind is OpRef or kind is TensorRef:
            refs.append(arg)  # pyright: ignore[reportArgumentType]
            parts.append("@")
        else:
            parts.append(_held(arg, refs) if kind in _HOLDERS else repr(arg))
    for name, arg in node.kwargs:
        parts.append(name)
        parts.append(_form_of(arg, refs))
    parts.append(str(len(node.kwargs)))
    key = tuple(parts)
    form = _forms.get(key)
    if form is None:
        if len(_forms) >= _MAX_FORMS:
            _forms.clear()
        form = _forms[key] = Form(with_slots(node))
    return form, refs


def form_calls(nodes: Iterable[Node]) -> list[FormedCall]:
    """Return the calls of a program in order."""
    return [call_form(node) for node in nodes]


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

    def __init__(self, make: Callable[[Node], Made], max_forms: int = _MAX_FORMS) -> None:
        self._make = make
        self._max_forms = max_forms
        self._made: dict[Form, Made] = {}

    def find(self, form: Form) -> Made:
        """Return what was made of a form."""
        known = self._made.get(form)
        if known is None:
            if len(self._made) >= self._max_forms:
                self._made.clear()
            known = self._made[form] = self._make(form.call)
        return known


@dataclass(frozen=True, slots=True)
class Template:
    """A text about a call with `%s` in the place of its operands; `slots` says which of them, in the text's order."""

    text: str
    slots: tuple[int, ...]

    def fill(self, operands: Sequence[str]) -> str:
        """Return the text with what it calls the operands in their places."""
        return self.text % tuple([operands[slot] for slot in self.slots])


def slot_mark(slot: Ref) -> str:
    """Return what stands for a slot in a text that `read_template` reads; no literal's source holds its like."""
    return f"{_MARK}{slot_number(slot)}{_MARK}"


def read_template(text: str) -> Template:
    """Return the template of a text with marks."""
    parts = text.split(_MARK)
    return Template("%s".join([part.replace("%", "%%") for part in parts[::2]]), tuple(map(int, parts[1::2])))


_MARK = "\0"


def _form_of(arg: Any, refs: list[Ref]) -> str:
    kind = type(arg)
    if kind is OpRef or kind is TensorRef:
        refs.append(arg)
        return "@"
    return _held(arg, refs) if kind in _HOLDERS else repr(arg)


def _held(arg: Any, refs: list[Ref]) -> str:
    text = repr(arg)
    return repr(_slotted(arg, refs)) if "Ref(" in text else text


def _slotted(arg: Arg, refs: list[Ref]) -> Arg:
    def slot(ref: Ref) -> Ref:
        refs.append(ref)
        return TensorRef(-len(refs))

    return map_refs(arg, slot)
