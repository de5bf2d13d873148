"""What a subgraph was at ten sizes to what it is at others: each varying dimension, stride and literal an expression.

Expressions are found on the traced configs (`mining.fitting`) and confirmed on held-out ones; where several forms fit
the traced ones, the held-out values decide. One integer without an expression that is exact on all of them, and the
subgraph has none, with the reason: a wrong one is never kept. What is promised of those that are kept: they gave
every integer seen, and hold where `constraints` do as far as all usual forms that fit what was seen agree.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, Literal, Protocol, cast

from extract.graph import is_contiguous
from extract.shape_configs import Sizes
from mining.evidence import find_constraints
from mining.expression import Constraint, Expression, ExpressionError, multiply
from mining.fitting import Fit, Fitter

Path = tuple[str | int, ...]
Literals = Mapping[tuple[int, Path], object]
Reason = Literal["too_few_sizes", "different_operands", "different_literals", "no_expression"]

_MIN_SIZES: Final = 3


class OperandLike(Protocol):
    """The shape and stride (elements) of one operand."""

    @property
    def shape(self) -> tuple[int, ...]: ...
    @property
    def stride(self) -> tuple[int, ...]: ...


class OverrideLike(Protocol):
    """A literal that is not the base's: op within the subgraph, where it sits, and its value."""

    @property
    def op(self) -> int: ...
    @property
    def path(self) -> Path: ...
    @property
    def value(self) -> object: ...


class InstanceLike(Protocol):
    """What fitting asks of an instance."""

    @property
    def sizes(self) -> Sizes: ...
    @property
    def operands(self) -> Sequence[OperandLike]: ...
    @property
    def overrides(self) -> Sequence[OverrideLike]: ...


@dataclass(frozen=True, slots=True, order=True)
class Place:
    """Where an integer stands: at dimension `path[0]` of an operand's shape or stride, or in a literal of an op."""

    kind: Literal["shape", "stride", "literal"]
    owner: int
    path: Path


@dataclass(frozen=True, slots=True)
class SymbolicSubgraph:
    """The integers of a subgraph that follow from sizes.

    `num_predicted` of the `expressions` were found on the samples alone and gave the held-out values unseen; the others
    were chosen with these. `num_samples` and `num_held_out` count the rows.
    """

    expressions: Mapping[Place, Expression]
    constraints: tuple[Constraint, ...]
    num_samples: int
    num_held_out: int
    num_predicted: int

    def values(self, sizes: Sizes) -> dict[Place, int]:
        """Return the integers at these sizes; raises `ExpressionError` where a constraint fails or an axis lacks."""
        for constraint in self.constraints:
            if not constraint.check(sizes):
                raise ExpressionError(f"{constraint.text} does not hold for {dict(sizes)}: nothing is known there")
        return {place: expression.evaluate(sizes) for place, expression in self.expressions.items()}


@dataclass(frozen=True, slots=True)
class NotSymbolic:
    """Why a subgraph has no expressions, and the first integer that has none."""

    reason: Reason
    detail: str


def fit(samples: Sequence[tuple[Sizes, int]], held_out: Sequence[tuple[Sizes, int]] = ()) -> Expression | None:
    """Return the simplest expression that is exact on every sample and held-out value, or None.

    Tables of sizes are remembered, so that many columns over one cost a table once.
    """
    tables = [tuple([tuple(sizes.items()) for sizes, _ in rows]) for rows in (samples, held_out)]
    found = _fitter(*tables).fit([value for _, value in (*samples, *held_out)])
    return None if found is None else found.expression


_FrozenSizes = tuple[tuple[str, int], ...]


@lru_cache(maxsize=64)
def _fitter(samples: tuple[_FrozenSizes, ...], held_out: tuple[_FrozenSizes, ...]) -> Fitter:
    return Fitter([dict(sizes) for sizes in samples], [dict(sizes) for sizes in held_out])


def fit_subgraph(
    instances: Sequence[InstanceLike],
    held_out: Sequence[InstanceLike] = (),
    base_literals: Literals | None = None,
    fitter: Fitter | None = None,
) -> SymbolicSubgraph | NotSymbolic:
    """Fit every varying integer of a subgraph's instances, one per sizes and all of one dtype.

    `base_literals` gives what stands in the base where an instance overrides nothing, by op and path; a place that some
    instance overrides and that is not in it must be overridden in all. `fitter`, made for these very rows in
    this order, saves fitting again what other subgraphs of the model have.
    """
    rows = [*instances, *held_out]
    if len({tuple(sorted(instance.sizes.items())) for instance in rows}) < _MIN_SIZES:
        return NotSymbolic(
            "too_few_sizes", f"{len(rows)} instances; at least {_MIN_SIZES} distinct sizes say something"
        )
    fitter = fitter or Fitter([instance.sizes for instance in instances], [instance.sizes for instance in held_out])
    if fitter.rows != [instance.sizes for instance in rows]:
        raise ValueError("the fitter was made for other sizes than those of the instances")
    if len({tuple([len(operand.shape) for operand in instance.operands]) for instance in rows}) > 1:
        return NotSymbolic("different_operands", "operands differ in number or rank from one size to another")
    literals = _literal_columns(rows, base_literals or {})
    if isinstance(literals, NotSymbolic):
        return literals
    return _Fitting(fitter).run(rows, literals)


Column = tuple[int | None, ...]


class _Fitting:
    """The places of one subgraph, fitted in turn."""

    def __init__(self, fitter: Fitter) -> None:
        self._fitter = fitter
        self._fits: dict[Place, Fit] = {}
        self._varying: list[Place] = []

    def run(self, rows: Sequence[InstanceLike], literals: Mapping[Place, Column]) -> SymbolicSubgraph | NotSymbolic:
        places: Iterator[tuple[Place, Column]] = iter(literals.items())
        for place, column in places:
            if not self._add(place, column, self._fitter.fit(column)):
                return _no_expression(place, column)
        for owner in range(len(rows[0].operands)):
            failed = self._fit_operand(owner, [instance.operands[owner] for instance in rows])
            if failed is not None:
                return failed
        varying = sorted(self._varying, key=_place_order)
        expressions = {place: self._fits[place].expression for place in varying}
        wrong = self._find_wrong(rows)
        if wrong is not None:
            return wrong
        return SymbolicSubgraph(
            expressions,
            find_constraints(expressions.values(), self._fitter.rows),
            self._fitter.num_samples,
            len(self._fitter.rows) - self._fitter.num_samples,
            sum(1 for place in varying if self._fits[place].is_predicted),
        )

    def _find_wrong(self, rows: Sequence[InstanceLike]) -> NotSymbolic | None:
        """Hold every operand against each row: of one that is not row by row all strides count, those of dimensions
        of size one too."""
        for sizes, instance in zip(self._fitter.rows, rows, strict=True):
            for owner, operand in enumerate(instance.operands):
                dims = range(len(operand.shape))
                made = tuple([self._fits[Place("stride", owner, (dim,))].expression.evaluate(sizes) for dim in dims])
                if made != operand.stride and not is_contiguous(operand.shape, operand.stride):
                    return NotSymbolic("no_expression", f"strides of {owner} at {dict(sizes)}: {operand.stride}")
        return None

    def _add(self, place: Place, column: Column, found: Fit | None) -> bool:
        if found is not None:
            self._fits[place] = found
            self._varying.extend([place] if len(set(column)) > 1 else [])
        return found is not None

    def _fit_operand(self, owner: int, operands: Sequence[OperandLike]) -> NotSymbolic | None:
        num_dims = len(operands[0].shape)
        shapes = [tuple([operand.shape[dim] for operand in operands]) for dim in range(num_dims)]
        strides = [tuple([operand.stride[dim] for operand in operands]) for dim in range(num_dims)]
        for dim in range(num_dims):
            place = Place("shape", owner, (dim,))
            if not self._add(place, shapes[dim], self._fitter.fit(shapes[dim])):
                return _no_expression(place, shapes[dim])
        done: list[int] = []
        for dim in sorted(range(num_dims), key=lambda dim: (strides[dim], -dim)):
            place = Place("stride", owner, (dim,))
            if not self._add(place, strides[dim], self._fit_stride(owner, dim, shapes, strides, done)):
                return _no_expression(place, strides[dim])
            done.append(dim)
        return None

    def _fit_stride(
        self,
        owner: int,
        dim: int,
        shapes: Sequence[tuple[int, ...]],
        strides: Sequence[tuple[int, ...]],
        done: list[int],
    ) -> Fit | None:
        """Fit a stride: the size times the stride of a dimension inside it, else by itself.

        The stride of a dimension of size one says nothing: it is fitted too where that can be done, else left open.
        """
        known = tuple([None if size == 1 else step for size, step in zip(shapes[dim], strides[dim], strict=True)])
        for column in dict.fromkeys((strides[dim], known)):
            if len({step for step in column if step is not None}) > 1:
                for inner in sorted(done, key=lambda other: (other != dim + 1, other)):
                    if _is_product(column, shapes[inner], strides[inner]):
                        return self._product(owner, inner)
            found = self._fitter.fit(column) or (self._fitter.fit_if_one(column) if None not in column else None)
            if found is not None:
                return found
        return self._fitter.fit_if_one(known)

    def _product(self, owner: int, inner: int) -> Fit:
        size, step = (self._fits[Place(kind, owner, (inner,))] for kind in ("shape", "stride"))
        return Fit(multiply(step.expression, size.expression), size.is_predicted and step.is_predicted)


def _is_product(column: Column, sizes: Sequence[int], steps: Sequence[int]) -> bool:
    return all(value is None or value == size * step for value, size, step in zip(column, sizes, steps, strict=True))


def _place_order(place: Place) -> tuple[str, int, str]:
    return place.kind, place.owner, repr(place.path)


def _no_expression(place: Place, column: Column) -> NotSymbolic:
    where = ".".join(map(str, place.path))
    values = ", ".join(map(str, column))
    return NotSymbolic("no_expression", f"{place.kind} {where} of {place.owner}: {values}"[:500])


def _literal_columns(rows: Sequence[InstanceLike], base: Literals) -> dict[Place, Column] | NotSymbolic:
    """Return what each literal that some instance overrides is in each row, lists taken apart; `6.0` counts as 6."""
    given = [{(override.op, override.path): override.value for override in instance.overrides} for instance in rows]
    columns: dict[Place, Column] = {}
    for op, path in dict.fromkeys(key for overrides in given for key in overrides):
        missing = [key for key in [(op, path)] if key not in base and any(key not in row for row in given)]
        if missing:
            raise ValueError(f"the base's literal of op {op} at {path} is not given")
        values = [overrides.get((op, path), base.get((op, path))) for overrides in given]
        leaves = [dict(_leaves(value, path)) for value in values]
        for at in leaves[0]:
            column = [row.get(at) for row in leaves]
            if all(map(_is_whole, column)):
                columns[Place("literal", op, at)] = tuple([int(leaf) for leaf in cast("list[float]", column)])
            elif any(leaf != column[0] or type(leaf) is not type(column[0]) for leaf in column):
                return NotSymbolic("different_literals", f"op {op} at {path}: {values}"[:500])
        if len({tuple(row) for row in leaves}) > 1:
            return NotSymbolic("different_literals", f"op {op} at {path}: {values}"[:500])
    return columns


def _is_whole(leaf: object) -> bool:
    return type(leaf) is int or (isinstance(leaf, float) and leaf.is_integer())


def _leaves(value: object, path: Path) -> Iterator[tuple[Path, object]]:
    """Yield what a literal holds and where: the elements of lists and the values of mappings, however deep."""
    if isinstance(value, list | tuple):
        elements = enumerate(cast("Sequence[object]", value))
    elif isinstance(value, dict):
        elements = cast("Mapping[str, object]", value).items()
    else:
        yield path, value
        return
    for step, element in elements:
        yield from _leaves(element, (*path, step))
