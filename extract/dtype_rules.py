"""Calls that meta tensors take and real ones refuse for their dtypes: what a trace in half precision cannot see.

Meta kernels of matrix products, convolutions and norms do not compare the dtypes of their operands, and those of
Fourier transforms and matrix decompositions do not ask whether there is a kernel (torch 2.14; found by trying each on
meta and on the CPU).
"""

from __future__ import annotations

from collections.abc import Mapping

from extract.graph import Graph, Node, OpRef, Ref, TensorRef, iter_refs

_FLOATING = frozenset({"float16", "bfloat16", "float32", "float64"})
_HALVES = frozenset({"float16", "bfloat16"})

# All floating operands have one dtype.
_OF_ONE_DTYPE = frozenset(
    "linear matmul mm mv addmm addmv conv1d conv2d conv3d conv_transpose1d conv_transpose2d conv_transpose3d "
    "convolution grid_sample grid_sampler index_add index_add_ cdist multi_head_attention_forward "
    "torchvision.deform_conv2d lstm gru rnn_tanh rnn_relu lstm_cell gru_cell rnn_tanh_cell rnn_relu_cell".split()
)
# The affine weights and statistics are as wide as the input or wider.
_NORMS = frozenset("layer_norm group_norm batch_norm instance_norm".split())
_NO_HALVES_PREFIXES = ("fft_", "linalg_")
_NO_HALVES = frozenset({"stft", "istft", "cdist"})
_ANY_DTYPE = frozenset(
    "linalg_norm linalg_vector_norm linalg_matrix_norm linalg_cross linalg_vecdot fft_fftshift fft_ifftshift".split()
)


def find_refused_call(graph: Graph) -> tuple[int, str] | None:
    """Return the first call that no kernel takes for the dtypes of its operands, by index and in words; None where
    there is none."""
    dtypes: dict[Ref, str] = {TensorRef(index): tensor.dtype for index, tensor in enumerate(graph.tensors)}
    for index, node in enumerate(graph.nodes):
        problem = _problem(node, dtypes) if _is_judged(node.op) else None
        if problem is not None:
            return index, f"op {index}: {node.op} {problem}"
        for output in node.outputs:
            dtypes[OpRef(index, output.path)] = output.dtype
    return None


def _is_judged(op: str) -> bool:
    return op in _OF_ONE_DTYPE or op in _NORMS or _wants_full_precision(op)


def _wants_full_precision(op: str) -> bool:
    return (op.startswith(_NO_HALVES_PREFIXES) and op not in _ANY_DTYPE) or op in _NO_HALVES


def _problem(node: Node, dtypes: Mapping[Ref, str]) -> str | None:
    found = [dtypes[ref] for ref in node.refs() if dtypes.get(ref) in _FLOATING]
    if node.op in _OF_ONE_DTYPE and len(set(found)) > 1:
        return f"of {' and '.join(dict.fromkeys(found))}"
    if node.op in _NORMS:
        first = next((dtypes.get(ref) for arg in node.args[:1] for ref in iter_refs(arg)), None)
        if first is not None and any(other != first and other in _HALVES for other in found):
            return f"of {first} with narrower weights"
    if _wants_full_precision(node.op) and not _HALVES.isdisjoint(found):
        return f"of {next(dtype for dtype in found if dtype in _HALVES)}"
    return None
