"""What a curve asks to be counted, with a counter by hand: few prefixes in full, and wrong windows found out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from extract.graph import Graph, Node, OpRef, OutputMeta, Ref, TensorMeta, TensorRef
from profiles.kernels.curve import Count, Curve, CurveConfig, CurveMaker
from profiles.kernels.windows import Window

IMAGE, TOKENS = (1, 8, 4, 4), (2, 4)
TENSORS = (
    TensorMeta("x", "input", "x", IMAGE, (128, 16, 4, 1), "float32"),
    TensorMeta("w", "parameter", "w", (80, 80, 1, 1), (80, 1, 1, 1), "float32"),
    TensorMeta("t", "input", "t", TOKENS, (4, 1), "float32"),
    TensorMeta("v", "parameter", "v", (4, 4), (4, 1), "float32"),
)
X, W, T, V = map(TensorRef, range(4))


def out(shape: tuple[int, ...], stride: tuple[int, ...]) -> tuple[OutputMeta, ...]:
    return (OutputMeta((), shape, stride, "float32"),)


def image_then_tokens(num_layers: int) -> Graph:
    """One convolution, then linear, relu, tanh on something else, time and again."""
    nodes = [Node("conv2d", "torch.conv2d", (X, W), (), out(IMAGE, (128, 16, 4, 1)))]
    last: Ref = T
    for _ in range(num_layers):
        for op in ("linear", "relu", "tanh"):
            args = (last, V) if op == "linear" else (last,)
            target = "torch.nn.functional.linear" if op == "linear" else f"torch.{op}"
            nodes.append(Node(op, target, args, (), out(TOKENS, (4, 1))))
            last = OpRef(len(nodes) - 1)
    return Graph(tuple(nodes), TENSORS, (OpRef(0), last))


def make(
    graph: Graph, target: str, count: Callable[[Window], Count], is_exact: bool = False
) -> tuple[Curve, list[Window]]:
    maker = CurveMaker(graph, target, target, {}, CurveConfig(is_exact))
    counts: dict[str, Count] = {}
    asked: list[Window] = []
    made = maker.advance(counts)
    while not isinstance(made, Curve):
        assert made, "neither a curve nor a need"
        asked += [maker.windows[key] for key in made]
        counts |= {key: count(maker.windows[key]) for key in made}
        made = maker.advance(counts)
    return made, asked


def counter(
    graph: Graph, nodes_an_op: int = 10, wrong: Callable[[Window], int] = lambda _: 0
) -> Callable[[Window], Count]:
    def count(window: Window) -> Count:
        num_kernels = sum(graph.nodes[op].op != "tanh" for op in window.ops) + wrong(window)
        return Count(num_kernels, num_kernels, nodes_an_op * len(window.ops), False, "extern_kernel", "", None)

    return count


def truth(graph: Graph) -> tuple[int, ...]:
    return tuple(
        sum(node.op != "tanh" for node in graph.nodes[:position]) for position in range(1, len(graph.nodes) + 1)
    )


def test_layers_that_repeat_are_counted_once() -> None:
    graph = image_then_tokens(100)
    made, asked = make(graph, "cpu", counter(graph))
    assert made.kernels == truth(graph)
    assert len(asked) < 30
    assert made.num_full == 1
    assert max(len(window.ops) for window in asked) < 20


def test_a_flip_of_the_layout_costs_its_two_positions_in_full() -> None:
    graph = image_then_tokens(100)
    made, asked = make(graph, "cuda:a30", counter(graph))
    assert made.kernels == truth(graph)
    assert made.num_flagged == 2
    flipped = sorted(window.end for window in asked if window.is_prefix and len(window.ops) > 10)
    assert len(flipped) == 2
    assert flipped[1] == flipped[0] + 1
    # One convolution is too few from 300 nodes on: 10 an op, the operands met so far, and the result.
    assert 300 - 10 - 5 <= 10 * flipped[1] <= 300 + 10


def test_windows_that_are_wrong_are_found_and_put_right_everywhere() -> None:
    graph = image_then_tokens(60)

    def too_many(window: Window) -> int:
        return 0 if window.is_prefix else sum(graph.nodes[op].op == "relu" for op in window.ops)

    made, asked = make(graph, "cpu", counter(graph, wrong=too_many))
    assert made.kernels == truth(graph)
    assert sum(window.is_prefix and window.end > 20 for window in asked) < 20


def test_new_windows_are_checked_where_they_first_occur_and_depth_adds_no_check() -> None:
    asked = [
        {window.end for window in make(graph, "cpu", counter(graph))[1] if len(window.ops) > 40}
        for graph in map(image_then_tokens, (100, 200))
    ]
    assert asked[0] == asked[1]


def test_what_cannot_be_planned_has_no_count() -> None:
    graph = image_then_tokens(4)
    nodes = list(graph.nodes)
    nodes[6] = replace(nodes[6], op="sqrt", target="torch.sqrt")
    graph = replace(graph, nodes=tuple(nodes))

    def count(window: Window) -> Count:
        ends_in_sqrt = bool(window.ops) and graph.nodes[window.ops[-1]].op == "sqrt"
        return Count(None, reason="plan_failed") if ends_in_sqrt else counter(graph)(window)

    made, _ = make(graph, "cpu", count)
    assert made.kernels[6] is None
    expected = truth(graph)
    assert made.kernels[:6] == expected[:6]
    assert made.kernels[-1] == expected[-1]


def test_an_exact_curve_counts_every_prefix() -> None:
    graph = image_then_tokens(5)
    made, asked = make(graph, "cuda:a30", counter(graph), is_exact=True)
    assert made.kernels == truth(graph)
    assert [window.end for window in asked] == list(range(1, len(graph.nodes) + 1))
    assert all(window.is_prefix for window in asked)
