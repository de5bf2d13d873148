"""How many floating-point operations a call that is no product takes: per element returned, or per element read.

An addition, a comparison and an exponential count one each. What moves data counts none. Ops that are in no table here
and have no formula in `extract.cost` (sorting, solving, custom ops, ...) have an unknown count.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Final

from extract.canonical import bind
from extract.cost import formula_flop, has_formula
from extract.graph import Arg, Node, Ref, iter_refs
from extract.views import Facts, is_view

_MOVES: Final = frozenset(
    "reshape flatten contiguous ravel reshape_as to type float double half bfloat16 type_as long int bool cpu clone "
    "copy_ cat concat stack hstack vstack pad constant_pad_nd roll flip repeat tile repeat_interleave index_select "
    "gather take_along_dim getitem setitem scatter index_copy masked_fill masked_scatter where tril triu embedding "
    "arange zeros ones full empty eye zeros_like ones_like full_like empty_like new_zeros new_ones new_full new_empty "
    "meshgrid unfold one_hot tensor scalar_tensor as_tensor new_tensor fill pixel_shuffle pixel_unshuffle "
    "channel_shuffle diag diag_embed pad_sequence index_put complex polar real imag conj nan_to_num".split()
)
_PER_RETURNED: Final = {
    **dict.fromkeys(
        "add sub rsub mul div true_divide neg pow float_power square sqrt rsqrt reciprocal exp expm1 exp2 log log1p "
        "log2 log10 sin cos tan tanh atanh asinh acos asin atan atan2 sinh cosh erf erfc erfinv abs sign relu relu6 "
        "gelu silu mish sigmoid hardswish hardsigmoid hardtanh logsigmoid softplus leaky_relu elu selu celu prelu "
        "softsign threshold clamp clamp_min clamp_max maximum minimum floor ceil round trunc floor_divide floordiv "
        "remainder fmod eq ne lt le gt ge logical_and logical_or logical_not logical_xor bitwise_and bitwise_or "
        "bitwise_not bitwise_xor invert isnan isinf isfinite outer positive".split(),
        1,
    ),
    "addcmul": 2,
    "addcdiv": 2,
    "lerp": 3,
    "dropout": 2,
}
_PER_READ: Final = {
    **dict.fromkeys(
        "sum mean prod max min amax amin argmax argmin all any cumsum cumprod cummax cummin adaptive_avg_pool1d "
        "adaptive_avg_pool2d adaptive_avg_pool3d adaptive_max_pool1d adaptive_max_pool2d fold glu diff".split(),
        1,
    ),
    **dict.fromkeys("norm linalg_vector_norm".split(), 2),  # square, add
    **dict.fromkeys("normalize logsumexp".split(), 3),  # square, add, divide; subtract, exponential, add
    **dict.fromkeys("var std rms_norm".split(), 4),  # twice a sum, of values and of squared differences
    **dict.fromkeys("softmax log_softmax".split(), 5),  # maximum, subtract, exponential, add, divide
    **dict.fromkeys("layer_norm group_norm instance_norm".split(), 7),  # as var, then subtract or add twice, scale
    "batch_norm": 2,  # by statistics that are there: one product, one sum
}
_POOLS: Final = frozenset("avg_pool1d avg_pool2d avg_pool3d max_pool1d max_pool2d max_pool3d".split())
_TAPS: Final = {"nearest": 1, "nearest-exact": 1, "linear": 2, "bilinear": 4, "trilinear": 8, "bicubic": 16}


def call_flop(node: Node, facts: Facts) -> float | None:
    """Return the floating-point operations of a call, None where they are unknown."""
    if is_view(node, facts):
        return 0.0
    op, pairs = bind(node)
    if op.startswith("fft_"):
        return None  # the formula of `extract.cost` is an upper end
    if has_formula(node):
        return formula_flop(node, facts)
    name, bound = (op if op in _MOVES else op.removesuffix("_")), dict(pairs)
    returned = sum([math.prod(output.shape) for output in node.outputs])
    if name in _MOVES:
        return 0.0
    if name in _PER_RETURNED:
        return float(_PER_RETURNED[name] * returned)
    if name in _PER_READ:
        return _of_read(name, node, bound, facts)
    if name in _POOLS:
        return _of_pool(name, bound, returned)
    taps = _TAPS.get(str(bound.get("mode", "nearest"))) if name == "interpolate" else None
    return None if taps is None or bound.get("antialias") is True else float((2 * taps - 2) * returned)


def _of_read(name: str, node: Node, bound: Mapping[str, Arg], facts: Facts) -> float | None:
    source: Ref | None = next(iter_refs(bound.get("input")), None)
    meta = None if source is None else facts.get(source)
    if meta is None:
        return None
    rate = _PER_READ["layer_norm"] if name == "batch_norm" and bound.get("training") is True else _PER_READ[name]
    is_pairwise = name in ("max", "min") and "other" in bound
    return float(math.prod(node.outputs[0].shape) if is_pairwise else rate * math.prod(meta.shape))


def _of_pool(name: str, bound: Mapping[str, Arg], returned: int) -> float | None:
    kernel, num_dims = bound.get("kernel_size"), int(name[-2])
    sizes = (kernel,) * num_dims if isinstance(kernel, int) else kernel
    if not isinstance(sizes, tuple) or not all(isinstance(size, int) for size in sizes):
        return None
    whole = [size for size in sizes if isinstance(size, int)]
    return float(math.prod(whole if len(whole) == num_dims else whole * num_dims) * returned)
