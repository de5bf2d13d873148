"""Two calls of one op to the literals in which they differ, and back: a call with literals put in their places."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from extract.call_forms import Form
from extract.graph import REFS, Arg, ArgList, ArgSlice, Node, iter_refs

Path: TypeAlias = tuple[str | int, ...]
Changes: TypeAlias = tuple[tuple[Path, Arg], ...]

_MAX_PAIRS = 100_000
_known: dict[tuple[Form, Form], Changes] = {}


class Differs(ValueError):
    """Two calls differ in more than literals; `reason` is `ops_changed` or `edges_changed`."""

    def __init__(self, reason: str, detail: str) -> None:
        super().__init__(reason, detail)
        self.reason = reason
        self.detail = detail


def literal_changes(old: Form, new: Form) -> Changes:
    """Return (path, literal of the new call) wherever the calls' literals differ, in the order of their arguments.

    Sequences of equal length are compared element by element; one of another length is a literal as a whole where it
    holds no operand. Literals are the same if they are written the same (1, 1.0 and True are three). Raises `Differs`.
    """
    known = _known.get((old, new))
    if known is None:
        if len(_known) >= _MAX_PAIRS:
            _known.clear()
        known = _known[old, new] = _changes_of_calls(old.call, new.call)
    return known


def _changes_of_calls(old: Node, new: Node) -> Changes:
    if (old.op, old.target) != (new.op, new.target):
        raise Differs("ops_changed", f"{new.op} ({new.target}) instead of {old.op} ({old.target})")
    names, new_names = [name for name, _ in old.kwargs], [name for name, _ in new.kwargs]
    if len(old.args) != len(new.args) or names != new_names:
        raise Differs("ops_changed", f"{old.op} has other arguments")
    changes: list[tuple[Path, Arg]] = []
    for place, (before, after) in enumerate(zip(old.args, new.args, strict=True)):
        _compare((place,), before, after, changes)
    for (name, before), (_, after) in zip(old.kwargs, new.kwargs, strict=True):
        _compare((name,), before, after, changes)
    return tuple(changes)


def _compare(path: Path, old: Arg, new: Arg, changes: list[tuple[Path, Arg]]) -> None:
    if isinstance(old, REFS) or isinstance(new, REFS):
        if old != new:
            raise Differs("edges_changed", f"an operand instead of a literal, or the reverse, at {path}")
        return
    parts, new_parts = _parts(old), _parts(new)
    if type(old) is type(new) and parts is not None and new_parts is not None and len(parts) == len(new_parts):
        for place, (before, after) in enumerate(zip(parts, new_parts, strict=True)):
            _compare((*path, place), before, after, changes)
    elif any(True for arg in (old, new) for _ in iter_refs(arg)):
        raise Differs("edges_changed", f"other operands at {path}")
    elif type(old) is not type(new) or repr(old) != repr(new):
        changes.append((path, new))


def changed_call(node: Node, changes: Sequence[tuple[Path, Arg]]) -> Node:
    """Return a call with literals put in their places; raises ValueError for a path that leads nowhere."""
    if not changes:
        return node
    args, kwargs = list(node.args), dict(node.kwargs)
    for path, value in changes:
        try:
            name, *rest = path
            if isinstance(name, str):
                kwargs[name] = _put(kwargs[name], rest, value)
            else:
                args[name] = _put(args[name], rest, value)
        except (LookupError, TypeError, ValueError) as error:
            raise ValueError(f"{node.op} has no argument at {path}") from error
    return Node(node.op, node.target, tuple(args), tuple(kwargs.items()), node.outputs)


def literal_at(node: Node, path: Path) -> Arg:
    """Return what a call has at a path; raises ValueError for a path that leads nowhere."""
    name, *rest = path
    try:
        arg = dict(node.kwargs)[name] if isinstance(name, str) else node.args[name]
        for step in rest:
            arg = (_parts(arg) or ())[int(step)]
    except LookupError as error:
        raise ValueError(f"{node.op} has no argument at {path}") from error
    return arg


def _put(old: Arg, path: Sequence[str | int], value: Arg) -> Arg:
    parts = _parts(old)
    if not path:
        if any(True for _ in iter_refs(old)):
            raise ValueError("an operand, not a literal")
        return value
    place, *rest = path
    if parts is None or not isinstance(place, int):
        raise LookupError(place)
    changed = list(parts)
    changed[place] = _put(changed[place], rest, value)
    return _BUILDERS[type(old)](changed)


def _parts(arg: Arg) -> tuple[Arg, ...] | None:
    """Return what a list, tuple or slice holds; None for a value without parts."""
    if isinstance(arg, ArgList):
        return arg.elements
    if isinstance(arg, ArgSlice):
        return arg.start, arg.stop, arg.step
    return arg if isinstance(arg, tuple) else None


_BUILDERS: dict[type, Callable[[Sequence[Arg]], Arg]] = {
    tuple: tuple,
    ArgList: lambda parts: ArgList(tuple(parts)),
    ArgSlice: lambda parts: ArgSlice(*parts),
}
