from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
import torch.nn.functional as F

from extract.dtype_rules import find_refused_call
from extract.failure import SubjectError
from extract.tracer import trace_module

HALF, FULL = torch.float16, torch.float32
Body = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]

CASES: dict[str, tuple[Body, tuple[int, ...], tuple[int, ...]]] = {
    "linear": (F.linear, (2, 4), (3, 4)),
    "matmul": (torch.matmul, (2, 4), (4, 3)),
    "conv2d": (F.conv2d, (1, 3, 8, 8), (4, 3, 3, 3)),
    "conv_transpose2d": (F.conv_transpose2d, (1, 3, 8, 8), (3, 4, 3, 3)),
    "layer_norm": (lambda x, w: F.layer_norm(x, (4,), w), (2, 4), (4,)),
    "batch_norm": (lambda x, w: F.batch_norm(x, w, w, w, w), (2, 4, 3, 3), (4,)),
    "group_norm": (lambda x, w: F.group_norm(x, 2, w, w), (2, 4, 3, 3), (4,)),
    "rms_norm": (lambda x, w: F.rms_norm(x, (4,), w), (2, 4), (4,)),
    "grid_sample": (lambda x, w: F.grid_sample(x, w, align_corners=False), (1, 3, 8, 8), (1, 4, 4, 2)),
    "cdist": (torch.cdist, (2, 3, 4), (2, 3, 4)),
    "bmm": (torch.bmm, (2, 3, 4), (2, 4, 3)),
    "add": (torch.add, (3,), (3,)),
    "rfft2": (lambda x, w: torch.fft.rfft2(x), (2, 7, 7), (1,)),
    "fftshift": (lambda x, w: torch.fft.fftshift(x), (2, 7), (1,)),
    "vector_norm": (lambda x, w: torch.linalg.vector_norm(x), (3, 3), (1,)),
    "qr": (lambda x, w: torch.linalg.qr(x)[0], (3, 3), (1,)),
}


class Program(torch.nn.Module):
    def __init__(self, body: Body) -> None:
        super().__init__()
        self.body = body

    def forward(self, first: torch.Tensor, second: torch.Tensor) -> torch.Tensor:
        return self.body(first, second)


@pytest.mark.parametrize("dtypes", [(HALF, HALF), (FULL, HALF), (HALF, FULL), (torch.bfloat16, torch.bfloat16)])
@pytest.mark.parametrize("name", CASES)
def test_a_call_is_refused_exactly_where_the_cpu_refuses_it(name: str, dtypes: tuple[torch.dtype, ...]) -> None:
    body, first, second = CASES[name]
    real = [torch.ones(shape, dtype=dtype) for shape, dtype in zip((first, second), dtypes, strict=True)]
    try:
        body(*real)
        runs = True
    except (RuntimeError, NotImplementedError):
        runs = False
    try:
        graph = trace_module(Program(body), tuple(tensor.to("meta") for tensor in real), subject=name).graph
        allowed = find_refused_call(graph) is None
    except SubjectError:
        allowed = False
    assert allowed == runs
