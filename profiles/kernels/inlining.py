"""Which values Inductor does not store, but computes again in all that reads them.

Its rule (`StorageBox.should_realize_on_reuse`, torch 2.14): a point-wise value with several readers is stored once it
reads more than four buffers, or on a CPU holds an exponential or its like; what a library call takes is always stored.
So along a residual stream every second or fourth sum is stored, whichever they are from the start of the program on:
a window must begin at one that is. Computed from torch-level ops, hence near the truth and not always there; where it
is not, a window is merely longer or shorter than it need be.
"""

from __future__ import annotations

from extract.cut import VIEW_OPS
from extract.graph import Graph, Node, OpRef, Ref, TensorRef
from profiles.kernels.op_classes import EXTERN_OPS

_MAX_READS = 4  # torch._inductor.config.realize_reads_threshold
_POINTWISE = frozenset(
    "add sub mul div rsub neg abs relu relu6 gelu silu sigmoid tanh hardswish hardsigmoid hardtanh leaky_relu elu "
    "selu celu mish softplus exp log pow square sqrt rsqrt clamp clamp_min clamp_max where masked_fill to float "
    "half bfloat16 embedding type_as dropout addcmul lerp maximum minimum erf cos sin reciprocal true_divide "
    "floor_divide batch_norm layer_norm group_norm rms_norm".split()
)
_NORMS_OVER_DATA = frozenset({"layer_norm", "group_norm", "rms_norm"})
_HEAVY_ON_CPU = frozenset("exp log sigmoid tanh silu softplus mish elu selu celu pow".split())
_RANDOM = frozenset("rand randn randint randperm empty".split())
_READS_OF_LIBRARY = {"cpu": 1, "cuda": 2}  # on a GPU a bias that point-wise ops follow is added by them


def find_inlined(graph: Graph, target: str) -> list[bool]:
    """Return, by op, whether its value is not stored once all its readers are there."""
    kind = target.split(":")[0]
    readers = _count_readers(graph)
    reads: dict[Ref, frozenset[object]] = {}
    heavy: dict[Ref, bool] = {}
    inlined: list[bool] = []
    for index, node in enumerate(graph.nodes):
        ref = OpRef(index)
        operands = list(dict.fromkeys(node.refs()))
        if node.op in VIEW_OPS and node.op not in _POINTWISE and operands and isinstance(operands[0], OpRef):
            reads[ref] = _reads_of(operands[0], reads)
            heavy[ref] = heavy.get(_whole(operands[0]), False)
            inlined.append(bool(inlined[operands[0].index]))
            continue
        name = node.op.removesuffix("_")
        union = frozenset().union(*(_reads_of(operand, reads) for operand in operands)) if operands else frozenset()
        is_heavy = name in _HEAVY_ON_CPU or any(heavy.get(_whole(operand), False) for operand in operands)
        has_library_reader, num_readers = readers[index]
        is_stored = has_library_reader or (
            num_readers > 1 and (len(union) > _MAX_READS or (kind == "cpu" and is_heavy))
        )
        is_inlined = name in _POINTWISE and not is_stored and num_readers > 0
        inlined.append(is_inlined)
        if name in _NORMS_OVER_DATA:
            union |= {(index, "mean"), (index, "rstd")}
        is_constant = not operands and name not in _RANDOM
        reads[ref] = union if is_inlined or is_constant else _own_reads(node, index, kind)
        heavy[ref] = is_inlined and is_heavy
    return inlined


def _own_reads(node: Node, index: int, kind: str) -> frozenset[object]:
    num_reads = _READS_OF_LIBRARY[kind] if node.op == "linear" and len(node.args) + len(node.kwargs) > 2 else 1
    return frozenset((index, part) for part in range(num_reads))


def _reads_of(ref: Ref, reads: dict[Ref, frozenset[object]]) -> frozenset[object]:
    return frozenset((ref,)) if isinstance(ref, TensorRef) else reads.get(_whole(ref), frozenset((ref.index,)))


def _whole(ref: Ref) -> Ref:
    return OpRef(ref.index) if isinstance(ref, OpRef) else ref


def _count_readers(graph: Graph) -> list[tuple[bool, int]]:
    """Return, by op, whether a library call takes its value, directly or through views, and how many ops take it."""
    found = [(False, 0)] * len(graph.nodes)
    for ref in graph.outputs:
        if isinstance(ref, OpRef):
            found[ref.index] = True, found[ref.index][1] + 1
    for index in reversed(range(len(graph.nodes))):
        node = graph.nodes[index]
        is_view = node.op in VIEW_OPS and node.op not in _POINTWISE
        for ref in dict.fromkeys(node.refs()):
            if isinstance(ref, OpRef):
                has_library_reader, num_readers = found[ref.index]
                own = found[index] if is_view else (node.op in EXTERN_OPS, 2 if node.op in _READ_TWICE else 1)
                found[ref.index] = has_library_reader or own[0], num_readers + own[1]
    return found


_READ_TWICE = frozenset("layer_norm group_norm rms_norm softmax log_softmax".split())
