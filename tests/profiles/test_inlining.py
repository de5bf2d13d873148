"""Which values are stored: along a residual stream every few sums, counted from the start."""

from __future__ import annotations

from extract.graph import Graph, Node, OpRef, OutputMeta, Ref, TensorMeta, TensorRef
from profiles.kernels.inlining import find_inlined

OUT = (OutputMeta((), (2, 4), (4, 1), "float32"),)
TENSORS = tuple(TensorMeta(name, "input", name, (2, 4), (4, 1), "float32") for name in ("x", "w", "b"))
X, W, B = map(TensorRef, range(3))


def residual_stream(num_layers: int) -> Graph:
    """x + linear(norm(x)), time and again: ops norm, linear, add."""
    nodes: list[Node] = []
    stream: Ref = X
    for _ in range(num_layers):
        nodes.append(Node("layer_norm", "torch.nn.functional.layer_norm", (stream, (4,), W, B), (), OUT))
        nodes.append(Node("linear", "torch.nn.functional.linear", (OpRef(len(nodes) - 1), W, B), (), OUT))
        nodes.append(Node("add", "torch.add", (stream, OpRef(len(nodes) - 1)), (), OUT))
        stream = OpRef(len(nodes) - 1)
    return Graph(tuple(nodes), TENSORS, (stream,))


def stored_sums(target: str) -> list[int]:
    inlined = find_inlined(residual_stream(9), target)
    return [op // 3 for op in range(2, 24, 3) if not inlined[op]]


def test_every_fourth_sum_is_stored_on_a_cpu_and_every_second_on_a_gpu() -> None:
    # On a GPU a linear's bias is one buffer more that the sum reads.
    assert stored_sums("cpu") == [3, 7]
    assert stored_sums("cuda:a30") == [1, 3, 5, 7]


def test_what_a_library_takes_is_stored_and_so_is_what_has_one_reader_not() -> None:
    nodes = (
        Node("relu", "torch.relu", (X,), (), OUT),
        Node("view", "torch.Tensor.view", (OpRef(0), 2, 4), (), OUT),
        Node("linear", "torch.nn.functional.linear", (OpRef(1), W, B), (), OUT),
        Node("tanh", "torch.tanh", (OpRef(2),), (), OUT),
        Node("neg", "torch.neg", (OpRef(3),), (), OUT),
        Node("add", "torch.add", (OpRef(3), OpRef(4)), (), OUT),
    )
    graph = Graph(nodes, TENSORS, (OpRef(5),))
    assert find_inlined(graph, "cuda:a30") == [False, False, False, True, True, False]
    assert find_inlined(graph, "cpu") == [False, False, False, False, True, False]  # a CPU stores tanh for two readers
