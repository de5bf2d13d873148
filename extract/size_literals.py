"""The integers of a call that are sizes (`data/size_args.csv`): where they stand, and the call with others there."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from extract.canonical import bound_arguments
from extract.graph import Arg, ArgList, ArgSlice, Node
from extract.op_tables import load_size_args

Path = tuple[int | str, ...]
"""Position or keyword of an argument, then positions within it; `start`, `stop` and `step` within a slice."""


@dataclass(frozen=True, slots=True)
class SizeLiteral:
    """One size: the parameter that it is (a part of), where it stands in the call, and its value."""

    parameter: str
    path: Path
    value: int


class _Placed(int):
    """An integer that knows where it stands."""

    path: Path


def size_literals(node: Node) -> list[SizeLiteral]:
    """Return the sizes among a call's literals, in the order of its parameters."""
    marked = Node(
        node.op,
        node.target,
        tuple([_placed(arg, (position,)) for position, arg in enumerate(node.args)]),
        tuple([(name, _placed(arg, (name,))) for name, arg in node.kwargs]),
    )
    op, arguments = bound_arguments(marked)
    known = load_size_args()
    found: list[SizeLiteral] = []
    for name, value in arguments.items():
        if (op, name) in known:
            slices_only = op in ("getitem", "setitem")
            found.extend([SizeLiteral(name, leaf.path, int(leaf)) for leaf in _leaves(value, slices_only)])
    return found


def with_sizes(node: Node, values: Mapping[Path, int]) -> Node:
    """Return a call with other integers at these places."""
    if not values:
        return node
    args = tuple([_replaced(arg, (position,), values) for position, arg in enumerate(node.args)])
    kwargs = tuple([(name, _replaced(arg, (name,), values)) for name, arg in node.kwargs])
    return Node(node.op, node.target, args, kwargs, node.outputs)


def _placed(arg: Arg, path: Path) -> Arg:
    if type(arg) is int:
        marked = _Placed(arg)
        marked.path = path
        return marked
    return _rebuilt(arg, path, _placed)


def _replaced(arg: Arg, path: Path, values: Mapping[Path, int]) -> Arg:
    if path in values:
        return values[path]
    return _rebuilt(arg, path, lambda part, at: _replaced(part, at, values))


def _rebuilt(arg: Arg, path: Path, change: Callable[[Arg, Path], Arg]) -> Arg:
    if isinstance(arg, tuple):
        return tuple([change(part, (*path, position)) for position, part in enumerate(arg)])
    if isinstance(arg, ArgList):
        return ArgList(tuple([change(part, (*path, position)) for position, part in enumerate(arg.elements)]))
    if isinstance(arg, ArgSlice):
        return ArgSlice(*[change(getattr(arg, name), (*path, name)) for name in ("start", "stop", "step")])
    return arg


def _leaves(value: Arg, slices_only: bool) -> Iterator[_Placed]:
    if isinstance(value, _Placed):
        if not slices_only:
            yield value
    elif isinstance(value, ArgSlice):
        for bound in (value.start, value.stop):
            if isinstance(bound, _Placed):
                yield bound
    elif isinstance(value, tuple | ArgList):
        for part in value if isinstance(value, tuple) else value.elements:
            yield from _leaves(part, slices_only)
