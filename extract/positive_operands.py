"""Which floating-point operands must be positive, so that roots, logarithms and quotients of them mean something.

A cut may begin in the middle of a norm: the variance that it takes is an operand like any other, and a sum of values of
either sign, by which it divides, would be any small number. Values are followed through ops that keep what is positive
so (views, sums, products of positive values, roots), up to the ops that ask for it; what is positive anyway (squares,
exponentials) asks nothing of its operands.
"""

from __future__ import annotations

from extract.canonical import bind
from extract.cut import VIEW_OPS
from extract.graph import Arg, Graph, OpRef, Ref, TensorRef, iter_refs

# Ops whose first operand must be positive (atanh and the like, which need values below 1 too, are left alone).
_ROOTS_AND_LOGS = frozenset(
    "sqrt rsqrt sqrt_ rsqrt_ log log2 log10 log_ log2_ log10_ log1p log1p_ xlogy lgamma".split()
)
_DIVISIONS = frozenset("div div_ remainder floor_divide".split())
# Ops that make positive values of positive ones.
_KEEPS_POSITIVE = VIEW_OPS | frozenset(
    "add add_ mul mul_ div div_ mean sum prod amax amin max min maximum minimum clamp clamp_ clamp_min clamp_max sqrt "
    "rsqrt reciprocal cat stack concat clone cumsum cumprod pow pow_ index_select gather repeat repeat_interleave roll "
    "flip avg_pool1d avg_pool2d avg_pool3d adaptive_avg_pool1d adaptive_avg_pool2d max_pool1d max_pool2d "
    "where float_power".split()
)


def positive_operands(graph: Graph) -> frozenset[int]:
    """Return the positions in the tensor table of the operands that must be positive."""
    needs: dict[Ref, frozenset[int]] = {
        TensorRef(index): frozenset((index,))
        for index, meta in enumerate(graph.tensors)
        if meta.dtype.startswith(("float", "bfloat"))
    }
    found: frozenset[int] = frozenset()
    for index, node in enumerate(graph.nodes):
        op, pairs = bind(node)
        bound = dict(pairs)
        first = _all_needs(bound.get("input"), needs)
        if op in _ROOTS_AND_LOGS or (op in ("pow", "pow_", "float_power") and _is_fraction(bound.get("exponent"))):
            found |= first
        if op in _DIVISIONS:
            found |= _all_needs(bound.get("other"), needs)
        if op in _KEEPS_POSITIVE and not (op in ("pow", "pow_") and _is_even(bound.get("exponent"))):
            needs[OpRef(index)] = frozenset().union(*(_all_needs(value, needs) for value in bound.values()))
    return found


def _all_needs(value: Arg, needs: dict[Ref, frozenset[int]]) -> frozenset[int]:
    refs = (OpRef(ref.index) if isinstance(ref, OpRef) else ref for ref in iter_refs(value))
    return frozenset[int]().union(*(needs.get(ref, frozenset()) for ref in refs))


def _is_fraction(exponent: Arg) -> bool:
    """Tell whether a power by this exponent is no number for a negative base; operands may be anything."""
    return not isinstance(exponent, int | float) or not float(exponent).is_integer()


def _is_even(exponent: Arg) -> bool:
    return isinstance(exponent, int | float) and exponent % 2 == 0
