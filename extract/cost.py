"""A graph to what a run of it costs, from its recorded shapes alone: nothing is run.

FLOP count a multiply-add as two, as `torch.utils.flop_counter` does; an op without a formula of its own counts the
elements it returns. Peak bytes follow the liveness of values as `extract.replay` frees them: views share their base's
memory, operands (weights and inputs) live throughout. Both lean to over-estimates: they decide what not to run.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import torch

from extract.canonical import bind, written_operands
from extract.graph import Arg, Graph, Node, OpRef, iter_refs
from extract.views import ALWAYS_VIEWS, Facts, facts_of, is_view, num_bytes

_CONVOLUTIONS = frozenset({"conv1d", "conv2d", "conv3d"})
_TRANSPOSED = frozenset({"conv_transpose1d", "conv_transpose2d", "conv_transpose3d"})
_FFT_PREFIX = "torch.fft."


@dataclass(frozen=True, slots=True)
class Cost:
    """What one run takes: floating-point operations, bytes at the fullest moment, and bytes of the operands alone."""

    num_flop: float
    peak_bytes: int
    operand_bytes: int


def estimate_cost(graph: Graph) -> Cost:
    """Return what one run of `graph` costs; linear in its ops."""
    facts = facts_of(graph)
    operand_bytes = sum(num_bytes(meta) for meta in graph.tensors)
    num_flop = sum(_node_flop(node, facts) for node in graph.nodes)
    return Cost(num_flop, operand_bytes + _peak_of_values(graph, facts), operand_bytes)


def _node_flop(node: Node, facts: Facts) -> float:
    num_returned = float(sum(math.prod(output.shape) for output in node.outputs))
    if node.op in ALWAYS_VIEWS:
        return 0.0
    if not has_formula(node):
        return num_returned
    flop = formula_flop(node, facts)
    return num_returned * _longest_operand(node, facts) if flop is None else flop


def has_formula(node: Node) -> bool:
    """Tell whether a call is a product, a convolution, attention or another op that more than its elements count in."""
    return node.target.startswith(_FFT_PREFIX) or bind(node)[0] in _FORMULAS


def formula_flop(node: Node, facts: Facts) -> float | None:
    """Return the FLOP of such a call; None for a spelling that its formula does not know."""
    num_returned = float(sum(math.prod(output.shape) for output in node.outputs))
    if node.target.startswith(_FFT_PREFIX):
        return 5.0 * num_returned * math.log2(max(num_returned, 2.0))  # 5 n log2 n: Cooley and Tukey's count
    op, pairs = bind(node)
    try:
        return _FORMULAS[op](dict(pairs), facts, num_returned)
    except (KeyError, IndexError, ValueError, TypeError, AttributeError, StopIteration):
        return None


def _longest_operand(node: Node, facts: Facts) -> int:
    return max((max(facts[ref].shape, default=1) for ref in node.refs() if ref in facts), default=1)


def _shape(bound: Mapping[str, Arg], facts: Facts, *names: str) -> tuple[int, ...]:
    ref: Any = next(bound[name] for name in names if name in bound)
    return facts[ref].shape


def _matmul_flop(bound: Mapping[str, Arg], facts: Facts, num_returned: float) -> float:
    """2 m n k (`torch.utils.flop_counter.mm_flop`); the contracted size is the first factor's last."""
    return 2.0 * num_returned * _shape(bound, facts, "mat1", "batch1", "mat", "input")[-1]


def _bilinear_flop(bound: Mapping[str, Arg], facts: Facts, num_returned: float) -> float:
    """Two contractions, over both inputs' features."""
    weight = _shape(bound, facts, "weight")
    return 2.0 * num_returned * weight[1] * (weight[2] + 1)


def _conv_flop(bound: Mapping[str, Arg], facts: Facts, num_returned: float) -> float:
    """Per returned element one product with a filter, of in_channels / groups x kernel (`conv_flop_count`)."""
    return 2.0 * num_returned * math.prod(_shape(bound, facts, "weight")[1:])


def _transposed_conv_flop(bound: Mapping[str, Arg], facts: Facts, num_returned: float) -> float:
    """Per element of the input one filter, of out_channels / groups x kernel (`conv_flop_count`, transposed)."""
    given = math.prod(_shape(bound, facts, "input"))
    return 2.0 * given * math.prod(_shape(bound, facts, "weight")[1:]) + num_returned


def _attention_flop(bound: Mapping[str, Arg], facts: Facts, num_returned: float) -> float:
    """Two products over query x key pairs (`sdpa_flop_count`), and five passes for the softmax."""
    query, key, value = (_shape(bound, facts, name) for name in ("query", "key", "value"))
    num_pairs = math.prod(query[:-1]) * key[-2]
    return num_pairs * (2.0 * query[-1] + 2.0 * value[-1] + 5.0)


def _multi_head_attention_flop(bound: Mapping[str, Arg], facts: Facts, num_returned: float) -> float:
    """Projections of query, key, value and output, and attention between them; sizes are (length, batch, features)."""
    query, key = _shape(bound, facts, "query"), _shape(bound, facts, "key")
    features, batch = query[-1], math.prod(query[1:-1])
    projections = 4.0 * math.prod(query[:-1]) * features**2 + 4.0 * math.prod(key[:-1]) * features**2
    return projections + 4.0 * batch * query[0] * key[0] * features


def _einsum_flop(bound: Mapping[str, Arg], facts: Facts, num_returned: float) -> float:
    """One multiply-add per combination of all indices: exact for two operands without an order to choose."""
    equation: Any = bound["equation"]
    given = equation.replace(" ", "").partition("->")[0].split(",")
    operands: Any = bound["operands"]
    sizes: dict[str, int] = {}
    for labels, ref in zip(given, iter_refs(operands), strict=True):
        before, dots, after = labels.partition("...")
        shape = facts[ref].shape
        sizes.update(zip(before, shape, strict=False))
        sizes.update(zip(reversed(after), reversed(shape), strict=False))
        if dots:
            sizes["..."] = max(sizes.get("...", 1), math.prod(shape[len(before) : len(shape) - len(after)]))
    return max(2.0 * math.prod(sizes.values()), num_returned)


def _recurrent_flop(bound: Mapping[str, Arg], facts: Facts, num_returned: float) -> float:
    """Each weight matrix multiplies every vector of the sequence once."""
    shape = _shape(bound, facts, "input")
    params: Any = bound["params"]
    num_weights = sum(math.prod(facts[ref].shape) for ref in iter_refs(params))
    return 2.0 * math.prod(shape[:-1]) * num_weights + num_returned


_Formula = Callable[[Mapping[str, Arg], Facts, float], float]
_FORMULAS: dict[str, _Formula] = {
    **dict.fromkeys(
        ("linear", "matmul", "mm", "bmm", "mv", "addmm", "addmv", "addbmm", "baddbmm", "dot"), _matmul_flop
    ),
    **dict.fromkeys(_CONVOLUTIONS, _conv_flop),
    **dict.fromkeys(_TRANSPOSED, _transposed_conv_flop),
    **dict.fromkeys(("lstm", "gru", "rnn_tanh", "rnn_relu"), _recurrent_flop),
    "scaled_dot_product_attention": _attention_flop,
    "multi_head_attention_forward": _multi_head_attention_flop,
    "einsum": _einsum_flop,
    "bilinear": _bilinear_flop,
}


def _peak_of_values(graph: Graph, facts: Facts) -> int:
    """Follow the memory of what ops return: allocated at the op, freed when no value that shares it is used again."""
    owners = _memory_owners(graph, facts)
    dies_after = _last_uses(graph, owners)
    peak = held = 0
    for index, node in enumerate(graph.nodes):
        own = sum(num_bytes(output) for output in node.outputs) if owners[index] == index else 0
        held += own
        peak = max(peak, held + _workspace_bytes(node, facts))
        held -= sum(
            sum(num_bytes(output) for output in graph.nodes[dead].outputs) for dead in dies_after.get(index, ())
        )
    return peak


def _memory_owners(graph: Graph, facts: Facts) -> list[int | None]:
    """Per op, the op whose memory its result lives in; None where that is an operand of the graph."""
    owners: list[int | None] = []
    for index, node in enumerate(graph.nodes):
        first = next(node.refs(), None)
        shares = bool(written_operands(node)) or is_view(node, facts)
        if not shares or first is None:
            owners.append(index)
        else:
            owners.append(owners[first.index] if isinstance(first, OpRef) else None)
    return owners


def _last_uses(graph: Graph, owners: list[int | None]) -> dict[int, list[int]]:
    last: dict[int, int] = {owner: owner for owner in owners if owner is not None}
    for index, node in enumerate(graph.nodes):
        for ref in node.refs():
            owner = owners[ref.index] if isinstance(ref, OpRef) else None
            if owner is not None:
                last[owner] = index
    for ref in graph.outputs:
        owner = owners[ref.index] if isinstance(ref, OpRef) else None
        if owner is not None:
            last.pop(owner, None)
    dies_after: dict[int, list[int]] = {}
    for owner, index in last.items():
        dies_after.setdefault(index, []).append(owner)
    return dies_after


def _workspace_bytes(node: Node, facts: Facts) -> int:
    """Memory of a kernel's own: operands laid out anew for products and convolutions, the matrix of attention scores.

    Which kernels do so depends on the machine; the figures are upper ends of what CPU kernels of torch 2.14 took.
    """
    given = sum(num_bytes(facts[ref]) for ref in node.refs() if ref in facts)
    made = sum(num_bytes(output) for output in node.outputs)
    if node.op in _CONVOLUTIONS or node.op in _TRANSPOSED:
        return given + made
    if node.op in ("matmul", "bmm", "baddbmm", "einsum", "lstm", "gru"):
        return given
    if node.op == "scaled_dot_product_attention":
        query, key, value, *_ = (facts[ref] for ref in node.refs())
        return given + 2 * math.prod(query.shape[:-1]) * key.shape[-2] * getattr(torch, value.dtype).itemsize
    if node.op == "multi_head_attention_forward":
        query, key, *_ = (facts[ref] for ref in node.refs())
        heads = 2 * math.prod(query.shape[1:-1]) * query.shape[0] * key.shape[0] * 16
        return 2 * given + heads * getattr(torch, query.dtype).itemsize
    return 0
