from __future__ import annotations

import weakref

import pytest
import torch

from extract.graph import Graph, Node, OpRef, OutputMeta, TensorMeta, TensorRef, TorchConstant
from extract.replay import replay
from extract.shape_memo import ShapeMemo
from extract.spelling import UnknownCallable
from extract.tracer import trace_module
from tests.extract.conftest import Program

X = TensorMeta("x", "input", "x", (2,), (1,), "float32")
OUT = (OutputMeta((), (2,), (1,), "float32"),)


def graph_of(*nodes: Node) -> Graph:
    return Graph(nodes, (X,), (OpRef(len(nodes) - 1),))


def test_device_literals_become_the_replays_own_device():
    cuda = TorchConstant("device", "cuda:0")
    graph = graph_of(
        Node("ones", "torch.ones", (2,), (("device", cuda),), OUT),
        Node("cuda", "torch.Tensor.cuda", (TensorRef(0),), (), OUT),
        Node("to", "torch.Tensor.to", (OpRef(1), "cuda"), (), OUT),
        Node("add", "operator.add", (OpRef(0), OpRef(2)), (), OUT),
    )
    assert replay(graph, [torch.ones(2)])[0].tolist() == [2.0, 2.0]
    assert replay(graph, [torch.ones(2, device="meta")])[0].is_meta


@pytest.mark.parametrize("target", ["torch.load", "torch.hub.load", "os.system", "torch.ops.passnet_none.nothing"])
def test_a_target_off_the_allowlist_is_refused(target):
    with pytest.raises(UnknownCallable):
        replay(graph_of(Node("load", target, ("x",), (), OUT)), [torch.ones(2)])


def test_values_are_freed_after_their_last_use():
    seen: list[weakref.ref[torch.Tensor]] = []

    class Watching(torch.overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            assert sum(reference() is not None for reference in seen) <= 1
            made = func(*args, **(kwargs or {}))
            if isinstance(made, torch.Tensor):
                seen.append(weakref.ref(made))
            return made

    nodes = [Node("neg", "torch.neg", (OpRef(i - 1) if i else TensorRef(0),), (), OUT) for i in range(6)]
    operand = torch.ones(2)
    with Watching():
        replay(graph_of(*nodes), [operand], torch.device("cpu"))
    assert len(seen) == 6


def test_the_number_of_operands_must_fit():
    with pytest.raises(ValueError, match="takes 1 operands, got 0"):
        replay(graph_of(Node("neg", "torch.neg", (TensorRef(0),), (), OUT)), [])


def test_on_meta_a_result_whose_shape_takes_values_is_as_recorded() -> None:
    def body(module: torch.nn.Module, x: torch.Tensor, keep: torch.Tensor) -> torch.Tensor:
        return torch.repeat_interleave(x[keep], torch.tensor([2, 1]), dim=0).relu()

    x, keep = torch.randn(3, 4), torch.tensor([True, False, True])
    graph = trace_module(Program(body), (x, keep), subject="test").graph
    operands = [torch.empty(meta.shape, dtype=getattr(torch, meta.dtype), device="meta") for meta in graph.tensors]
    (out,) = replay(graph, operands, memo=ShapeMemo())
    assert (tuple(out.shape), out.dtype) == ((3, 4), torch.float32)
    with pytest.raises(NotImplementedError):
        replay(graph, operands)
