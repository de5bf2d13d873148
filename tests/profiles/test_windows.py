"""Windows reach as far back as the rules say, and equal programs have equal keys."""

from __future__ import annotations

from extract.cut import Cutter
from extract.graph import Graph, Node, OpRef, OutputMeta, Ref, TensorMeta, TensorRef
from profiles.kernels.windows import StoredValues, Window, WindowChooser, WindowConfig, WindowKeys

SHAPE, STRIDE = (2, 4), (4, 1)
OUT = (OutputMeta((), SHAPE, STRIDE, "float32"),)
TENSORS = (
    TensorMeta("x", "input", "x", SHAPE, STRIDE, "float32"),
    TensorMeta("w", "parameter", "w", (4, 4), (4, 1), "float32"),
)
X, W = TensorRef(0), TensorRef(1)


def graph(*calls: tuple[str, tuple[Ref, ...]], outputs: tuple[int, ...] = ()) -> Graph:
    nodes = tuple(
        Node(op, "torch.nn.functional.linear" if op == "linear" else f"torch.{op}", args, (), OUT) for op, args in calls
    )
    return Graph(nodes, TENSORS, tuple(OpRef(op) for op in outputs or (len(calls) - 1,)))


def layers(count: int) -> Graph:
    """Linear, relu, tanh, time and again."""
    calls: list[tuple[str, tuple[Ref, ...]]] = []
    last: Ref = X
    for _ in range(count):
        for op in ("linear", "relu", "tanh"):
            calls.append((op, (last, W) if op == "linear" else (last,)))
            last = OpRef(len(calls) - 1)
    return graph(*calls)


def ops_of(subject: Graph, position: int, config: WindowConfig | None = None) -> tuple[int, ...] | None:
    window = WindowChooser(subject, "cpu", config).window(position)
    return None if window is None else window.ops


def test_a_window_begins_at_a_library_call() -> None:
    assert ops_of(layers(6), 17) == (15, 16)
    assert ops_of(layers(6), 18) == (15, 16, 17)
    assert ops_of(layers(6), 16) == (12, 13, 14, 15)


def test_a_window_reaches_back_to_what_shares_a_buffer() -> None:
    # The last op and the first both read x, and nothing keeps them apart.
    subject = graph(
        ("tanh", (X,)),
        ("linear", (OpRef(0), W)),
        ("relu", (OpRef(1),)),
        ("linear", (OpRef(2), W)),
        ("add", (X, OpRef(3))),
    )
    assert ops_of(subject, 5) == (3, 4)  # what reads x first is above a library call above it: no fusion
    apart = graph(("tanh", (X,)), ("linear", (W, W)), ("relu", (OpRef(1),)), ("neg", (X,)), outputs=(0, 2, 3))
    assert ops_of(apart, 4) == (0, 1, 2, 3)


def test_a_window_takes_in_the_maker_of_a_value_that_ends_with_it() -> None:
    subject = graph(
        ("linear", (X, W)),
        ("relu", (OpRef(0),)),
        ("linear", (OpRef(1), W)),
        ("linear", (OpRef(2), W)),
        ("add", (OpRef(1), OpRef(3))),
        ("add", (OpRef(3), OpRef(4))),
    )
    assert ops_of(subject, 5) == (0, 1, 2, 3, 4)


def test_constants_come_along_and_what_is_too_far_is_left_to_the_whole_prefix() -> None:
    constant = Node("ones", "torch.ones", (2, 4), (), OUT)
    base = layers(6)
    added = Node("add", "torch.add", (OpRef(18), OpRef(0)), (), OUT)
    moved = [
        Node(n.op, n.target, tuple(OpRef(a.index + 1) if isinstance(a, OpRef) else a for a in n.args), (), OUT)
        for n in base.nodes
    ]
    subject = Graph((constant, *moved, added), TENSORS, (OpRef(19),))
    assert ops_of(subject, 20) == (0, 16, 17, 18, 19)
    chain = graph(*[("tanh", (OpRef(op - 1) if op else X,)) for op in range(150)])
    assert ops_of(chain, 150) is None
    assert WindowChooser(chain, "cpu").prefix(150).is_prefix


def test_equal_layers_have_equal_keys_and_other_sizes_others() -> None:
    subject = layers(6)
    keys, chooser = WindowKeys(subject, "cpu", {}), WindowChooser(subject, "cpu")
    windows = [chooser.window(position) for position in (9, 12, 15)]
    assert len({keys.key(window) for window in windows if window is not None}) == 1
    (other,) = {WindowKeys(subject, "cuda:a30", {}).key(window) for window in windows if window is not None}
    assert other != keys.key(Window((6, 7, 8), 9))
    strides = {OpRef(5): (1, 2)}
    laid_out = WindowKeys(subject, "cpu", strides)
    assert laid_out.key(Window((6, 7, 8), 9, True, False)) != keys.key(Window((6, 7, 8), 9, True, False))


def test_images_lie_as_in_eager_mode_where_their_layout_is_not_optimised_and_tokens_by_rows() -> None:
    image = OutputMeta((), (1, 2, 3, 3), (18, 9, 3, 1), "float32")
    nodes = (Node("tanh", "torch.tanh", (X,), (), (image,)), Node("tanh", "torch.tanh", (X,), (), OUT))
    subject = Graph((*nodes, Node("add", "torch.add", (OpRef(0), OpRef(1)), (), OUT)), TENSORS, (OpRef(2),))
    keys = WindowKeys(subject, "cpu", {OpRef(0): (18, 1, 6, 2), OpRef(1): (1, 2)})
    optimised, eager = Window((2,), 3, True, False), Window((2,), 3, False, False)
    assert keys.stride_of(OpRef(0), optimised) == (18, 1, 6, 2)
    assert keys.stride_of(OpRef(0), eager) == (18, 9, 3, 1)
    assert keys.stride_of(OpRef(1), optimised) == keys.stride_of(OpRef(1), eager) == (1, 2)


def test_what_is_needed_later_is_an_output() -> None:
    subject = graph(("linear", (X, W)), ("relu", (OpRef(0),)), ("tanh", (OpRef(0),)), ("add", (OpRef(1), OpRef(2))))
    cutter, keys = Cutter(subject), WindowKeys(subject, "cpu", {})
    assert cutter.cut_ops((0, 1), 2).results == (OpRef(0), OpRef(1))
    assert cutter.cut_ops((0, 1, 2), 3).results == (OpRef(1), OpRef(2))
    assert keys.key(Window((0, 1), 2)) != keys.key(Window((0, 1), 3))


def test_a_view_looks_for_no_kernel_to_share() -> None:
    # `chunk` of a table that every layer reads: the layers before have no part in it.
    calls: list[tuple[str, tuple[Ref, ...]]] = []
    for layer in range(4):
        last: Ref = OpRef(len(calls) - 1) if layer else X
        calls += [("chunk", (X,)), ("linear", (last, W)), ("mul", (OpRef(len(calls) + 1), OpRef(len(calls))))]
    assert ops_of(graph(*calls), 10) == (7, 8, 9)


def test_a_window_takes_in_the_maker_of_what_it_writes_in_place() -> None:
    subject = graph(
        ("linear", (X, W)),
        ("tanh", (OpRef(0),)),
        ("linear", (OpRef(1), W)),
        ("relu_", (OpRef(1),)),
        ("linear", (OpRef(2), W)),
        ("add", (OpRef(4), OpRef(3))),
        outputs=(2, 5),
    )
    window = ops_of(subject, 6)
    assert window is not None and window[0] <= 1


def test_weights_made_of_weights_come_along_and_nothing_before_them() -> None:
    calls: list[tuple[str, tuple[Ref, ...]]] = []
    for layer in range(3):
        last: Ref = OpRef(len(calls) - 1) if layer else X
        made = len(calls)
        calls += [("reshape", (W,)), ("tanh", (OpRef(made),)), ("reshape", (OpRef(made + 1),))]
        calls += [("conv2d", (last, OpRef(made + 2)))]
    assert ops_of(graph(*calls), 12) == tuple(
        range(4, 12)
    )  # from the library call before on, and what its weight is made of


def test_what_a_plan_stores_overrules_the_guess() -> None:
    subject = graph(("linear", (X, W)), ("tanh", (OpRef(0),)), ("linear", (OpRef(1), W)), ("relu", (OpRef(2),)))
    assert ops_of(subject, 4) == (2, 3)
    stored = StoredValues({1: True}, {})
    window = WindowChooser(subject, "cpu", stored=stored).window(4)
    assert window is not None and window.ops == (1, 2, 3)
