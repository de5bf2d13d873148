"""A call found in memory is what torch says of it."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from extract.foreign_memo import CallMemo, LazyTensor, call_key, lazy_tensor
from extract.foreign_program import infer_graph
from extract.foreign_text import Calls
from extract.graph import Arg, Node, OpRef, TensorMeta, TensorRef, contiguous_stride

SHAPES = (
    (2, 3, 4, 5),
    (7, 3, 5, 3),
    (1, 6, 1, 1),
    (1, 9, 1, 1),
    (4, 1, 3, 3),
    (3, 3, 3, 3),
    (1, 1, 1, 1),
    (2, 3, 1, 4),
    (5, 3, 2, 3),
    (4, 6, 3, 3),
)
ORDERS = ((0, 1, 2, 3), (0, 2, 3, 1), (0, 1, 3, 2), (3, 1, 0, 2))
X, W = TensorRef(0), TensorRef(1)
CALLS: list[tuple[str, tuple[Arg, ...], tuple[tuple[str, Arg], ...]]] = [
    ("torch.nn.functional.gelu", (X,), ()),
    ("torch.nn.functional.hardswish", (X, True), ()),
    ("torch.nn.functional.dropout", (X, 0.5, False, False), ()),
    ("torch.nn.functional.softmax", (X,), (("dim", -1),)),
    ("torch.nn.functional.normalize", (X,), (("dim", 1),)),
    ("torch.nn.functional.batch_norm", (X, W, W, W, W), (("training", False),)),
    ("torch.nn.functional.batch_norm", (X, W, W, W, W), (("training", True),)),
    ("torch.nn.functional.normalize", (X,), (("dim", 1), ("out", None))),
    ("torch.nn.functional.layer_norm", (X, (3,), W, W), ()),
    ("torch.nn.functional.layer_norm", (X, (3,)), ()),
    ("torch.nn.functional.linear", (X, W, None), ()),
    ("torch.nn.functional.linear", (X, W), ()),
    ("torch.Tensor.sub", (X, W), ()),
    ("operator.add", (X, W), ()),
    ("operator.mul", (W, X), ()),
    ("torch.Tensor.add_", (X, W), ()),
    ("operator.add", (X, 1.5), ()),
]


def meta(name: str, shape: tuple[int, ...], dtype: str, stride: tuple[int, ...] | None = None) -> TensorMeta:
    return TensorMeta(name, "input", name, shape, stride or contiguous_stride(shape), dtype)


def ordered_stride(shape: tuple[int, ...], order: tuple[int, ...]) -> tuple[int, ...]:
    """Return the stride of a shape whose dimensions lie in this order in memory."""
    stride = dict(zip(order, contiguous_stride(tuple(shape[dim] for dim in order)), strict=True))
    return tuple(stride[dim] for dim in range(len(shape)))


def infer(call: Any, tensors: list[TensorMeta]) -> Any:
    target, args, kwargs = call
    return infer_graph(Calls((Node("", target, args, kwargs),), (OpRef(0),)), tensors)


@pytest.mark.parametrize("call", CALLS, ids=lambda call: call[0])
def test_what_memory_says_is_what_torch_says(call: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = CallMemo()
    num_known = 0
    for shape, dtype in itertools.product(SHAPES, ("float32", "float16", "int64")):
        for other in ((), shape, shape[1:2], shape[-1:], shape[1:], (1, *shape[1:]), shape[:2], (*shape[:2], 1, 1)):
            for stride in (*[ordered_stride(shape, order) for order in ORDERS], (1, *contiguous_stride(shape)[:-1])):
                tensors = [meta("x", shape, dtype, stride), meta("w", other, dtype)]
                monkeypatch.setattr("extract.foreign_program._calls", lambda: kept)
                remembered = infer(call, tensors)
                monkeypatch.setattr("extract.foreign_program._calls", lambda: CallMemo(max_calls=1))
                monkeypatch.setattr("extract.foreign_program._memo", _forgetful)
                assert infer(call, tensors) == remembered
                num_known += remembered.finding is None
    assert num_known


def test_calls_that_reshape_their_operand_run_each_time() -> None:
    call = ("torch.Tensor.t_", (X,), ())
    for _ in range(2):
        node = infer(call, [meta("x", (2, 3), "float32")]).graph.nodes[0]
        assert node.outputs[0].shape == (3, 2)


def test_a_tensor_is_made_once_and_its_facts_are_those_of_now() -> None:
    lazy = lazy_tensor(((2, 3), (3, 1), "float32"))
    assert lazy is not None
    lazy.tensor.t_()
    assert lazy.facts == ((3, 2), (1, 3), "float32")
    assert lazy.tensor is lazy.tensor


def test_what_torch_cannot_hold_is_no_tensor() -> None:
    assert lazy_tensor(((2**62, 8), (8, 1), "float64")) is None
    assert lazy_tensor(((2,), (1,), "no_such_dtype")) is None


def test_literals_of_different_types_are_different_calls() -> None:
    operand = LazyTensor(((2,), (1,), "float32"))
    keys = {call_key(Node("", "operator.mul", (X, number)), lambda ref: operand) for number in (1, 1.0, True)}
    assert len(keys) == 3


def _forgetful() -> Any:
    from extract.shape_memo import ShapeMemo

    return ShapeMemo()
