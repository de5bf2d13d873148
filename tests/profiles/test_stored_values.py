"""What the plan of a whole graph stores, and windows that go by it: an image turned into tokens and back."""

from __future__ import annotations

import pytest
import torch
from torch.nn import functional as F

from extract.graph import Graph, OpRef
from extract.tracer import trace_module
from profiles.kernels.counting import GraphCounter
from profiles.kernels.curve import Count, Curve, CurveConfig
from profiles.kernels.layouts import with_eager_strides
from profiles.kernels.scheduler import planning_for
from profiles.kernels.stored_values import plan_values
from profiles.kernels.targets import TARGETS


class Hybrid(torch.nn.Module):
    """Two rounds of: image, tokens, sum, image again, convolution, an activation in place."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = torch.nn.Conv2d(3, 16, 3, padding=1)
        self.mix = torch.nn.ModuleList(torch.nn.Linear(16, 16) for _ in range(2))
        self.conv = torch.nn.ModuleList(torch.nn.Conv2d(16, 16, 3, padding=1, groups=16) for _ in range(2))
        self.norm = torch.nn.ModuleList(torch.nn.BatchNorm2d(16) for _ in range(2))

    def forward(self, image: torch.Tensor) -> torch.Tensor:
        image = F.relu_(self.stem(image))
        for mix, conv, norm in zip(self.mix, self.conv, self.norm, strict=True):
            tokens = image.permute(0, 2, 3, 1)
            mixed = F.layer_norm(tokens.reshape(1, 64, 16), (16,))
            tokens = tokens + mix(mixed).view(1, 8, 8, 16)
            image = F.relu_(norm(conv(tokens.permute(0, 3, 1, 2))))
        return image.mean((2, 3))


@pytest.fixture(scope="module")
def hybrid() -> Graph:
    torch.manual_seed(0)
    return trace_module(Hybrid().eval(), (torch.randn(1, 3, 8, 8),), subject="test").graph


@pytest.mark.parametrize("target", ["cpu", "cuda:a30"])
def test_windows_of_a_hybrid_give_the_counts_of_whole_prefixes(hybrid: Graph, target: str) -> None:
    def curve(is_exact: bool) -> Curve:
        counts: dict[str, Count] = {}
        counter = GraphCounter(hybrid, target, CurveConfig(is_exact))
        made = counter.advance(counts)
        while not isinstance(made, Curve):
            counts |= counter.count(made)
            made = counter.advance(counts)
        return made

    with planning_for(TARGETS[target]):
        windows, exact = curve(False), curve(True)
    assert windows.kernels == exact.kernels
    assert windows.num_full < len(hybrid.nodes) // 4


def test_what_is_computed_again_is_told_from_what_is_stored(hybrid: Graph) -> None:
    with planning_for(TARGETS["cpu"]):
        placed = with_eager_strides(hybrid, "cpu")
        _, stored = plan_values(placed, TARGETS["cpu"])
    ops = hybrid.op_names
    stem, norm = ops.index("conv2d"), ops.index("batch_norm")
    assert not stored.inlined[stem]
    assert stored.strides[OpRef(stem)] == (1024, 1, 128, 16)  # channels-last
    assert stored.inlined[norm]  # the activation in place reads it alone
