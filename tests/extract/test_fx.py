from __future__ import annotations

import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensorMode

from extract.fx import from_fx, to_fx
from extract.hashing import hash_graph
from extract.tracer import trace_module


class Small(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv = torch.nn.Conv2d(3, 4, 3)
        self.norm = torch.nn.BatchNorm2d(4)
        self.head = torch.nn.Linear(4, 2)

    def forward(self, x, scale):
        y = torch.relu(self.norm(self.conv(x)))
        first, second = y.split(2, dim=1)
        y = torch.cat([first * scale, second.mT], dim=1)
        y[:, 0] = 1.0
        values, indices = y.flatten(2).max(dim=-1)
        return self.head(values), indices, y[0, :, 1:3]


@pytest.fixture
def inputs() -> tuple[torch.Tensor, torch.Tensor]:
    return torch.randn(2, 3, 6, 6), torch.randn(1)


def test_a_graph_keeps_every_field_through_fx_and_computes_the_same(inputs):
    module = Small().eval()
    graph = trace_module(module, inputs, subject="s").graph
    own = {**dict(module.named_parameters()), **dict(module.named_buffers())}
    tensors = {tensor.name: own[tensor.original_name] for tensor in graph.tensors if tensor.kind != "input"}
    graph_module = to_fx(graph, tensors)
    for ours, theirs in zip(graph_module(*inputs), module(*inputs), strict=True):
        assert torch.equal(ours, theirs)
    assert from_fx(graph_module) == graph


def test_a_graph_module_that_dynamo_captured_has_our_hashes(inputs):
    module = Small().eval()
    captured: list[torch.fx.GraphModule] = []

    def backend(graph_module, example_inputs):
        captured.append(graph_module)
        return graph_module.forward

    with torch.no_grad():
        torch.compile(module, backend=backend, fullgraph=True)(*inputs)
        ours = trace_module(module, inputs, subject="s").graph
    theirs = from_fx(captured[0])
    assert theirs.op_names == ours.op_names
    assert hash_graph(theirs).graph_sha256 == hash_graph(ours).graph_sha256


def test_a_placeholder_without_a_tensor_is_named():
    graph_module = torch.fx.symbolic_trace(torch.nn.ReLU())
    with pytest.raises(KeyError, match="placeholder input"):
        from_fx(graph_module)
    graph = from_fx(graph_module, {"input": FakeTensorMode().from_tensor(torch.ones(2))})
    assert graph.op_names == ("relu",)
