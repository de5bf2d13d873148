"""Which operands must be positive, or negative, so that roots, logarithms and quotients of them mean something.

A cut may begin in the middle of a norm: the variance that it takes is an operand like any other, and a sum of values of
either sign, by which it divides, would be any small number. Values are followed through ops that keep their sign
(views, casts, sums, products of positive values, roots) or turn it (`neg`), up to the ops that ask for it; what is
positive anyway (squares, exponentials) asks nothing of its operands. Integers are asked too: logarithms are taken of
distances.
"""

from __future__ import annotations

from typing import Final, Literal

from extract.canonical import bind
from extract.cut import VIEW_OPS
from extract.graph import Arg, Graph, OpRef, Ref, TensorRef, iter_refs

Sign = Literal[1, -1]

# Ops whose first operand must be positive (atanh and the like, which need values below 1 too, are left alone).
_ROOTS_AND_LOGS: Final = frozenset(
    "sqrt rsqrt sqrt_ rsqrt_ log log2 log10 log_ log2_ log10_ log1p log1p_ xlogy lgamma".split()
)
_DIVISIONS: Final = frozenset("div div_ remainder floor_divide".split())
# Ops that make positive values of positive ones.
_KEEPS_POSITIVE: Final = VIEW_OPS | frozenset(
    "add add_ mul mul_ div div_ mean sum prod amax amin max min maximum minimum clamp clamp_ clamp_min clamp_max sqrt "
    "rsqrt reciprocal cat stack concat clone cumsum cumprod pow pow_ index_select gather repeat repeat_interleave roll "
    "flip avg_pool1d avg_pool2d avg_pool3d adaptive_avg_pool1d adaptive_avg_pool2d max_pool1d max_pool2d "
    "where float_power".split()
)
_TURNS: Final = frozenset({"neg", "neg_", "negative"})

_Needs = frozenset[tuple[int, Sign]]


def operand_signs(graph: Graph) -> dict[int, Sign]:
    """Return by position in the tensor table which operands must be positive (1) or negative (-1).

    Of one that is asked to be both, the first counts.
    """
    needs: dict[Ref, _Needs] = {
        TensorRef(index): frozenset({(index, 1)})
        for index, meta in enumerate(graph.tensors)
        if meta.dtype.startswith(("float", "bfloat", "int", "uint"))
    }
    found: dict[int, Sign] = {}
    for index, node in enumerate(graph.nodes):
        op, pairs = bind(node)
        bound = dict(pairs)
        first = _all_needs(bound.get("input"), needs)
        if op in _ROOTS_AND_LOGS or (op in ("pow", "pow_", "float_power") and _is_fraction(bound.get("exponent"))):
            _ask(found, first)
        if op in _DIVISIONS:
            _ask(found, _all_needs(bound.get("other"), needs))
        if op in _TURNS:
            needs[OpRef(index)] = _turned(first)
        elif op in _KEEPS_POSITIVE and not (op in ("pow", "pow_") and _is_even(bound.get("exponent"))):
            needs[OpRef(index)] = _Needs().union(*(_all_needs(value, needs) for value in bound.values()))
    return found


def _ask(found: dict[int, Sign], needs: _Needs) -> None:
    for tensor, sign in sorted(needs):
        found.setdefault(tensor, sign)


def _turned(needs: _Needs) -> _Needs:
    turned: set[tuple[int, Sign]] = {(tensor, -1 if sign == 1 else 1) for tensor, sign in needs}
    return frozenset(turned)


def _all_needs(value: Arg, needs: dict[Ref, _Needs]) -> _Needs:
    refs = (OpRef(ref.index) if isinstance(ref, OpRef) else ref for ref in iter_refs(value))
    return _Needs().union(*(needs.get(ref, _Needs()) for ref in refs))


def _is_fraction(exponent: Arg) -> bool:
    """Tell whether a power by this exponent is no number for a negative base; operands may be anything."""
    return not isinstance(exponent, int | float) or not float(exponent).is_integer()


def _is_even(exponent: Arg) -> bool:
    return isinstance(exponent, int | float) and exponent % 2 == 0
