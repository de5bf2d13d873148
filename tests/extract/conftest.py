"""What the tracer's tests share: a module made of a function, and the check that a replay equals the module."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest
import torch

from extract.graph import Graph, TensorMeta
from extract.replay import replay
from extract.tensor_identity import attribute_tensors
from extract.tracer import Recording, flatten_tensors, trace_module


class Program(torch.nn.Module):
    """A module whose forward is a plain function of the module and its inputs."""

    def __init__(self, body: Callable[..., Any]) -> None:
        super().__init__()
        self.body = body
        self.linear = torch.nn.Linear(4, 4)

    def forward(self, x: Any, *others: Any) -> Any:
        return self.body(self, x, *others)


def operand_of(meta: TensorMeta, module: torch.nn.Module, inputs: dict[str, torch.Tensor]) -> torch.Tensor:
    """The module's own tensor behind one entry of the tensor table."""
    if meta.kind == "input":
        return inputs[meta.name]
    own = {**dict(module.named_parameters()), **dict(module.named_buffers()), **dict(attribute_tensors(module))}
    if meta.original_name in own:
        return own[meta.original_name]
    assert meta.values is not None, meta
    return torch.tensor(meta.values, dtype=getattr(torch, meta.dtype)).reshape(meta.shape)


def move_to_meta(module: torch.nn.Module) -> None:
    """`module.to("meta")` that keeps tied parameters tied."""
    moved: dict[int, torch.Tensor] = {}
    for submodule in module.modules():
        for table in (submodule._parameters, submodule._buffers):
            for name, tensor in table.items():
                if tensor is not None and id(tensor) not in moved:
                    twin = tensor.detach().to("meta")
                    moved[id(tensor)] = torch.nn.Parameter(twin) if isinstance(tensor, torch.nn.Parameter) else twin
                table[name] = None if tensor is None else moved[id(tensor)]


def replay_on(graph: Graph, module: torch.nn.Module, inputs: tuple[torch.Tensor, ...]) -> tuple[torch.Tensor, ...]:
    """Replay a graph on a module's own tensors; the module is not touched."""
    module = copy.deepcopy(module)
    names = [meta.name for meta in graph.tensors if meta.kind == "input"]
    by_name = {name: value.clone() for name, value in zip(names, inputs, strict=True)}
    return replay(graph, [operand_of(meta, module, by_name) for meta in graph.tensors])


@pytest.fixture
def check() -> Callable[..., Recording]:
    """Trace a program on meta tensors and on real ones, and compare both replays with the program, bit for bit."""

    def traced(program: Any, *inputs: torch.Tensor, modes: tuple[str, ...] = ("meta", "real")) -> Recording:
        module = program if isinstance(program, torch.nn.Module) else Program(program)
        recordings: list[Recording] = []
        for mode in modes:
            subject = copy.deepcopy(module)
            if mode == "meta":
                move_to_meta(subject)
            given = tuple(value.clone() if mode == "real" else value.to("meta") for value in inputs)
            recordings.append(trace_module(subject, given, subject=mode))
            with torch.no_grad():
                torch.manual_seed(3)
                returned = copy.deepcopy(module)(*[value.clone() for value in inputs])
            torch.manual_seed(3)
            replayed = replay_on(recordings[-1].graph, module, inputs)
            expected = list(flatten_tensors(returned))
            assert len(expected) == len(replayed)
            for ours, theirs in zip(replayed, expected, strict=True):
                assert ours.dtype == theirs.dtype and torch.equal(ours, theirs), recordings[-1].graph
        assert len({recording.graph.nodes for recording in recordings}) == 1
        return recordings[0]

    return traced
