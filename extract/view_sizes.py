"""Which sizes a view has at new sizes of what it views: dimensions as products of atoms, split and joined in order.

An atom is a size that programs do not take apart: the batch, the rows of a feature map, a constant. It is its old size
and its new one. A view hands out the atoms of its operand in order: dimensions that it joins take several, one that
it splits goes to several dimensions. Where more than one way fits the old sizes, all are given, likely ones first.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import Final

Atom = tuple[int, int]
"""Old size and new size."""
Atoms = tuple[Atom, ...]
Pairs = Callable[[int], Sequence[int]]
"""New sizes that dimensions of an old size were seen to have, other than that size."""

_MAX_WAYS: Final = 8


def new_size(atoms: Sequence[Atom]) -> int:
    """Return the new size of a dimension made of these atoms."""
    return math.prod([new for _, new in atoms])


def view_ways(operand: Sequence[Atoms], targets: Sequence[int], pairs: Pairs) -> list[tuple[Atoms, ...]]:
    """Return the ways to hand out the operand's atoms to dimensions of old sizes `targets`, likely ones first."""
    atoms = tuple([atom for dim in operand for atom in dim if atom != (1, 1)])
    return list(islice(_hand_out(atoms, tuple(targets), pairs), _MAX_WAYS))


def _hand_out(atoms: Atoms, targets: tuple[int, ...], pairs: Pairs) -> Iterator[tuple[Atoms, ...]]:
    if not targets:
        if not atoms:
            yield ()
        return
    for taken, rest in _take(atoms, targets, pairs):
        for others in _hand_out(rest, targets[1:], pairs):
            yield (taken, *others)


def _take(atoms: Atoms, targets: tuple[int, ...], pairs: Pairs) -> Iterator[tuple[Atoms, Atoms]]:
    """Yield the ways to fill the first target: the atoms for it and what is left."""
    target, size = targets[0], 1
    stops: list[int] = [0] if target == 1 else []
    for count, (old, new) in enumerate(atoms, 1):
        if size * old > target or target % (size * old):
            common = target // size
            if common > 1 and old % common == 0:
                for first, second in _split(old, new, common, pairs):
                    taken = (*atoms[: count - 1], first)
                    yield taken, (second, *atoms[count:])
            break
        size *= old
        if size == target:
            stops.append(count)
    for stop in _by_likelihood(stops, atoms, targets):
        yield atoms[:stop], atoms[stop:]


def _by_likelihood(stops: list[int], atoms: Atoms, targets: tuple[int, ...]) -> list[int]:
    """Order the numbers of atoms that fill a target; they differ by atoms that were of size one.

    A target of one takes one of them. Another takes none, unless the next target is just the atom after them.
    """
    if len(stops) < 2:
        return stops
    if targets[0] == 1:
        return [stops[1], stops[0], *stops[2:]]
    following = atoms[stops[-1]][0] if stops[-1] < len(atoms) else None
    takes_all = len(targets) == 1 or (targets[1] != 1 and targets[1] == following)
    return stops[::-1] if takes_all else stops


def _split(old: int, new: int, first: int, pairs: Pairs) -> Iterator[tuple[Atom, Atom]]:
    """Yield the ways to take an atom apart: both parts seen before, else the outer one varies, else the inner one."""
    second = old // first
    if old == new:
        yield (first, first), (second, second)
        return
    ways: dict[tuple[Atom, Atom], None] = {}
    for new_first in pairs(first):
        if new % new_first == 0 and new // new_first in pairs(second):
            ways[(first, new_first), (second, new // new_first)] = None
    if new % second == 0:
        ways[(first, new // second), (second, second)] = None
    if new % first == 0:
        ways[(first, first), (second, new // first)] = None
    yield from ways
