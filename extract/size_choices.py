"""What the sizes in a call's literals may become at new sizes: one or more ways, likely ones first.

A size is read by what it is a size of. A view's follow from the atoms of the dimensions it views, the end of a
dimension stays its end, parts add up to the whole. Any other size becomes what dimensions of that size became; where
it is one, that is the batch only if the call says so: it makes a tensor of an input's shape, or expands what was
computed.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from extract.cut import VIEW_OPS
from extract.graph import ArgSlice, Graph, Node, OpRef, OutputMeta, TensorRef
from extract.size_literals import Path, SizeLiteral, size_literals
from extract.view_sizes import Atom, Atoms, new_size, view_ways

_MAX_WAYS: Final = 8
_VIEWS: Final = frozenset({"view", "reshape", "unflatten"})
_JOINS: Final = frozenset({"flatten", "ravel"})
_EXPANDS: Final = frozenset({"expand", "broadcast_to"})
_REPEATS: Final = frozenset({"repeat", "tile"})
_SPLITS: Final = frozenset({"split", "split_with_sizes", "tensor_split"})
_INDEXED: Final = frozenset({"getitem", "setitem", "narrow"})
_ARITHMETIC: Final = frozenset("add sub mul div floor_divide remainder add_ sub_ mul_ div_".split())
_FACTORIES: Final = frozenset(
    "zeros ones empty full rand randn randint new_zeros new_ones new_empty new_full zeros_like".split()
)

Shape = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Way:
    """What the sizes of a call may become, by where they stand, and for a view the atoms of its dimensions."""

    values: Mapping[Path, int]
    dims: tuple[Atoms, ...] | None = None


class SizeChanges:
    """Which sizes became which so far in a program; `new_shape` gives that of an operand.

    `note` is to be called for each call once it ran.
    """

    def __init__(self, graph: Graph, new_shape: Callable[[Any], Shape]) -> None:
        self._graph = graph
        self._new_shape = new_shape
        self._became: dict[int, dict[int, None]] = {}
        self._made_of: dict[Atom, Atoms] = {}
        self._windows: set[int] = set()
        self._changes_inside = False

    def see(self, old: Shape, new: Shape) -> None:
        """Note what the dimensions of one tensor became."""
        for size, other in zip(old, new, strict=True):
            if size != other:
                known = self._became.setdefault(size, {})
                known.pop(other, None)
                known[other] = None

    def see_input(self, old: Shape, new: Shape) -> None:
        """Note what the dimensions of an input became."""
        self._changes_inside |= old[1:] != new[1:]
        self.see(old, new)

    def is_open(self, node: Node) -> bool:
        """Tell whether a call's own text leaves open if a size of one in it is the batch, so that a run must tell."""
        if node.op not in _FACTORIES or self._is_shaped_as_input(node):
            return False
        return bool(self._became.get(1)) and node.outputs[0].shape[:1] == (1,)

    def note(self, node: Node, way: Way, outputs: Sequence[OutputMeta]) -> None:
        """Note what a call returned that went this way."""
        dims = way.dims
        if dims is not None:
            self._note_windows(node, dims)
        elif node.op in _JOINS:
            ways = self._view_dims(node)
            dims = next((dims for dims in ways if tuple(map(new_size, dims)) == outputs[0].shape), None)
        for atoms in dims or ():
            pair = _pair(atoms)
            if len(atoms) > 1 and pair[0] != pair[1]:
                self._made_of[pair] = atoms
        for old, new in zip(node.outputs, outputs, strict=True):
            self.see(old.shape, new.shape)

    def ways(self, node: Node) -> list[Way]:
        """Return what the sizes of a call may become; none where they do not follow from its operand's."""
        literals = size_literals(node) if self._became else []
        if node.op in _VIEWS and literals:
            return self._view_ways(node, literals)
        literals = [literal for literal in literals if literal.value > 0]
        if not literals:
            return [Way({})]
        if node.op in _SPLITS:
            return self._split_ways(node, literals)
        sizes = [self._sizes(node, position, literal) for position, literal in enumerate(literals)]
        paths = [literal.path for literal in literals]
        return [Way(dict(zip(paths, chosen, strict=True))) for chosen in _combinations(sizes)]

    def untold(self, node: Node) -> str | None:
        """Return which number of a call may follow from a size that changed although it is none, if any: what is
        padded to windows, and what positions are scaled by."""
        if node.op == "pad":
            operand, *others = node.args
            amounts: Any = others[0] if others else dict(node.kwargs).get("pad")
            padded = len(amounts if isinstance(amounts, tuple) else getattr(amounts, "elements", ())) // 2
            old, new = self._old_shape(operand), self._new_shape(operand)
            if old[len(old) - padded :] != new[len(new) - padded :]:
                return "the amount of padding may follow from the sizes"
        if node.op in _ARITHMETIC and self._changes_inside:
            for arg in node.args:
                if isinstance(arg, int | float) and arg > 1 and (arg in self._became or arg + 1 in self._became):
                    return f"{arg} may follow from the sizes"
        return None

    def _note_windows(self, node: Node, dims: Sequence[Atoms]) -> None:
        """Note what a dimension was split into where its other part became another."""
        before = {atom for atoms in self._dims(node) for atom in atoms}
        for outer, inner in itertools.pairwise(dims):
            is_window = len(inner) == 1 and inner[0][0] == inner[0][1] > 1
            is_split = _pair((*outer, *inner)) in before and _pair(outer) not in before
            if is_window and is_split and _pair(outer)[0] != _pair(outer)[1]:
                self._windows.add(inner[0][0])

    def _pairs(self, old: int) -> list[int]:
        """Return what dimensions of a size became, the latest first."""
        return list(reversed(self._became.get(old, {})))

    def _view_dims(self, node: Node) -> list[tuple[Atoms, ...]]:
        return view_ways(self._dims(node), node.outputs[0].shape, self._pairs)

    def _view_ways(self, node: Node, literals: Sequence[SizeLiteral]) -> list[Way]:
        first = _dim_of(node, len(self._old_shape(node.args[0]))) if node.op == "unflatten" else 0
        ways: list[Way] = []
        if self._may_be_one_window(node):
            return ways
        for dims in self._view_dims(node):
            pairs = zip(literals, map(new_size, dims[first:]), strict=False)
            ways.append(Way({literal.path: size for literal, size in pairs if literal.value >= 0}, dims))
        return ways

    def _may_be_one_window(self, node: Node) -> bool:
        """Tell whether a dimension of a window's size gets a one beside it: which of the two will grow is not told."""
        changed = [old for atoms in self._dims(node) for old, new in atoms if old != new]
        return 1 in node.outputs[0].shape and not self._windows.isdisjoint(changed)

    def _split_ways(self, node: Node, literals: Sequence[SizeLiteral]) -> list[Way]:
        """Return sizes that add up: of equal parts, or with one changed, likely one whose size became another."""
        dim = _dim_of(node, len(self._old_shape(node.args[0])))
        old, new = self._old_shape(node.args[0])[dim], self._new_shape(node.args[0])[dim]
        if len(literals) == 1 and literals[0].value != old:
            count = len(node.outputs)
            sizes = [size for size in (literals[0].value, *self._pairs(literals[0].value)) if -(-new // size) == count]
            sizes += [new // count] if new % count == 0 else []
            return [Way({literals[0].path: size}) for size in dict.fromkeys(sizes)]
        if old == new or sum(literal.value for literal in literals) != old:
            return [Way({})]
        changes = [(literal, literal.value + new - old) for literal in literals]
        likely = sorted(changes, key=lambda change: (change[1] not in self._pairs(change[0].value), -change[0].value))
        return [Way({literal.path: size}) for literal, size in likely if size > 0]

    def _sizes(self, node: Node, position: int, literal: SizeLiteral) -> list[int]:
        value, became = literal.value, self._pairs(literal.value)
        if node.op in _INDEXED:
            return self._bounds(node, literal, became)
        if node.op in _EXPANDS:
            return self._expanded(node, position, value, became)
        if node.op in _REPEATS:
            shape = self._new_shape(node.args[0])
            is_whole = len(shape) < len(node.outputs[0].shape) or shape[:1] == (1,)
            return [*became, value] if position == 0 and is_whole else [value, *became]
        if value > 1 or node.op == "arange":
            return [*became, value]
        if node.op not in _FACTORIES or position:
            return [value]
        return [*became, value] if self._is_shaped_as_input(node) else [value, *became]

    def _bounds(self, node: Node, literal: SizeLiteral, became: Sequence[int]) -> list[int]:
        dim = _bounded_dim(node, literal)
        shape = self._old_shape(node.args[0])
        if dim is not None and dim < len(shape) and shape[dim] == literal.value:
            return [self._new_shape(node.args[0])[dim]]
        return [*became, literal.value] if literal.value > 1 else [literal.value]

    def _expanded(self, node: Node, position: int, value: int, became: Sequence[int]) -> list[int]:
        shape = self._new_shape(node.args[0])
        own = position - (len(node.outputs[0].shape) - len(shape))
        if own >= 0 and shape[own] != 1:
            return [shape[own]]
        if value > 1 or position:
            return [*became, value] if value > 1 else [value]
        return [value, *became] if self._is_fixed(node.args[0]) else [*became, value]

    def _is_shaped_as_input(self, node: Node) -> bool:
        """Tell whether a call makes a mask: of the first dimensions of an input, or of its first and its last; or
        adds dimensions to all of an input's."""
        shape = node.outputs[0].shape
        inputs = [meta.shape for meta in self._graph.tensors if meta.kind == "input"]
        return len(shape) > 1 and any(
            shape in (given[: len(shape)], (*given[:1], *given[1 - len(shape) :])) or shape[: len(given)] == given
            for given in inputs
            if given
        )

    def _is_fixed(self, arg: Any) -> bool:
        """Tell whether a value is a view of a table that the model holds; a parameter is expanded to be joined."""
        while isinstance(arg, OpRef) and self._graph.nodes[arg.index].op in VIEW_OPS:
            arg = self._graph.nodes[arg.index].args[0]
        return isinstance(arg, TensorRef) and self._graph.tensors[arg.index].kind in ("buffer", "constant")

    def _dims(self, node: Node) -> list[Atoms]:
        pairs = zip(self._old_shape(node.args[0]), self._new_shape(node.args[0]), strict=True)
        return [self._made_of.get(pair, (pair,)) for pair in pairs]

    def _old_shape(self, arg: Any) -> Shape:
        if isinstance(arg, TensorRef):
            return self._graph.tensors[arg.index].shape
        outputs = self._graph.nodes[arg.index].outputs
        return next(output.shape for output in outputs if output.path == arg.path)


def _combinations(sizes: Sequence[Sequence[int]]) -> list[tuple[int, ...]]:
    """Return choices of one size each, those with the fewest unlikely ones first."""
    ranked = itertools.product(*[list(enumerate(dict.fromkeys(options))) for options in sizes])
    found = sorted(itertools.islice(ranked, 256), key=lambda chosen: sum(rank for rank, _ in chosen))
    return [tuple([size for _, size in chosen]) for chosen in found[:_MAX_WAYS]]


def _dim_of(node: Node, rank: int) -> int:
    """Return the dimension that a call of `split` or `unflatten` names."""
    position = 2 if node.op in _SPLITS else 1
    dim = dict(node.kwargs).get("dim", node.args[position] if len(node.args) > position else 0)
    return dim % rank if isinstance(dim, int) else 0


def _bounded_dim(node: Node, literal: SizeLiteral) -> int | None:
    """Return the dimension that a slice's bound is one of, where the index says so plainly."""
    if node.op == "narrow" or literal.path[0] != 1:
        return None
    index, position = node.args[1], literal.path[1]
    if not isinstance(index, tuple) or not isinstance(position, int):
        return 0
    return position if all(isinstance(part, ArgSlice) for part in index[:position]) else None


def _pair(atoms: Sequence[Atom]) -> Atom:
    old, new = 1, 1
    for size, other in atoms:
        old, new = old * size, new * other
    return old, new
