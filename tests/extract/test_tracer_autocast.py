from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from torch._subclasses.fake_tensor import FakeTensorMode

from extract.model_tracing import to_fake
from extract.recorder import NeedsFakeTensors
from extract.replay import replay
from extract.tracer import trace_module


class Mixed(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(8, 8)
        self.norm = torch.nn.LayerNorm(8)
        self.conv = torch.nn.Conv1d(4, 4, 3, padding=1)
        self.attention = torch.nn.MultiheadAttention(8, 2, batch_first=True)

    def forward(self, x):
        x = x + 1
        with torch.autocast("cpu", torch.bfloat16):
            y = self.norm(self.linear(x)) @ x.mT
            y = F.softmax(y, dim=-1) @ self.linear(x) + self.conv(x)
            with torch.autocast("cpu", enabled=False):
                y = self.linear(y.float())
            y = F.scaled_dot_product_attention(y, y, y) + torch.einsum("bij,bkj->bik", x, x).sum(-1, keepdim=True)
            y = y + self.attention(x, x, x)[0] + torch.cat([x, x.bfloat16()]).sum()
        return y, self.linear(x)


def test_autocast_is_explicit_casts_and_replays_without_autocast():
    torch.manual_seed(0)
    module, x = Mixed().eval(), torch.randn(2, 4, 8)
    with torch.no_grad():
        expected = module(x)
    recording = trace_module(module, (x,), subject="s")
    own = dict(module.named_parameters())
    operands = [x if tensor.kind == "input" else own[tensor.original_name] for tensor in recording.graph.tensors]
    for ours, theirs in zip(replay(recording.graph, operands), expected, strict=True):
        assert ours.dtype == theirs.dtype
        assert torch.equal(ours, theirs)
    casts = [node for node in recording.graph.nodes if node.target == "torch.Tensor.to"]
    assert {output.dtype for node in casts for output in node.outputs} >= {"bfloat16", "float32"}


def test_autocast_on_fake_tensors_gives_the_program_of_real_ones():
    module, x = Mixed().eval(), torch.randn(2, 4, 8)
    on_real = trace_module(module, (x,), subject="s").graph
    fake_mode = FakeTensorMode()
    faked = Mixed().eval().to("meta")
    to_fake(faked, fake_mode)
    recording = trace_module(faked, (fake_mode.from_tensor(x),), subject="s")
    assert recording.tensor_mode == "fake"
    assert recording.graph.nodes == on_real.nodes


def test_autocast_on_meta_asks_for_fake_tensors():
    module = Mixed().eval().to("meta")
    with pytest.raises(NeedsFakeTensors):
        trace_module(module, (torch.empty(2, 4, 8, device="meta"),), subject="s")
