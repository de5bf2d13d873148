from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import torch

from extract.module_state import ModuleState


class Table:
    def __init__(self) -> None:
        self.by_size: dict[int, Any] = {}


class Caching(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(2, 2)
        self.register_buffer("positions", torch.zeros(2), persistent=False)
        self.cache: dict[str, list[int]] = {"seen": []}
        self.table = Table()
        self.config = SimpleNamespace(length=2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.positions = torch.zeros(len(x))
        self.last = x
        self.cache["seen"].append(len(x))
        self.table.by_size[len(x)] = x
        self.linear.weight = torch.nn.Parameter(torch.ones(2, 2))
        return self.linear(x)


def test_what_a_forward_left_behind_is_taken_back() -> None:
    module = Caching()
    state, positions, weight, cache = ModuleState(module), module.positions, module.linear.weight, module.cache
    module(torch.zeros(3, 2))
    assert module.cache == {"seen": [3]} and list(module.table.by_size) == [3]
    state.restore()
    assert module.positions is positions and module.linear.weight is weight
    assert not hasattr(module, "last")
    assert module.cache is cache and cache == {"seen": []} and module.table.by_size == {}


class Capturing(torch.nn.Module):
    """Installs a hook in its first run and marks it as installed, as transformers does for hidden states."""

    is_installed = False

    def __init__(self) -> None:
        super().__init__()
        self.layer = torch.nn.ReLU()
        self.seen: list[int] = []

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if not self.is_installed:
            self.layer.register_forward_hook(lambda module, args, output: self.seen.append(1))
            self.layer.register_forward_pre_hook(lambda module, args, kwargs: None, with_kwargs=True)
            self.is_installed = True
        return self.layer(x)


def test_hooks_that_the_first_run_installs_are_not_installed_twice() -> None:
    module = Capturing()
    module.layer.register_forward_hook(lambda module, args, output: None)
    state = ModuleState(module)
    for _ in range(3):
        module(torch.zeros(2))
        assert module.seen == [1] and len(module.layer._forward_hooks) == 2
        state.restore()
        assert not module.is_installed and not module.layer._forward_pre_hooks_with_kwargs
        assert len(module.layer._forward_hooks) == 1 and not module.layer._forward_pre_hooks


def test_modules_and_names_that_changed_places_are_put_back() -> None:
    module = torch.nn.ModuleDict({"a": torch.nn.ReLU(), "b": torch.nn.ReLU()})
    first, second = module["a"], module["b"]
    state = ModuleState(module)
    module["a"], module["b"] = second, first
    module["c"] = torch.nn.ReLU()
    state.restore()
    assert list(module) == ["a", "b"] and module["a"] is first and module["b"] is second


def test_a_cast_begins_from_the_buffers_that_were_there_before_another_cast() -> None:
    module = Caching()
    module.positions = torch.tensor([1.0, 70000.0])
    state = ModuleState(module)
    module.to(torch.float16)
    assert torch.isinf(module.positions[1])
    state.restore()
    module.to(torch.bfloat16)
    assert module.positions.dtype is torch.bfloat16 and torch.isfinite(module.positions).all()


def test_cast_parameters_are_what_they_were() -> None:
    module = torch.nn.Linear(3, 2)
    weight, values = module.weight, module.weight.detach().clone()
    state = ModuleState(module)
    module.to(torch.bfloat16)
    half = ModuleState(module)
    state.restore()
    assert module.weight is weight and torch.equal(module.weight, values)
    half.restore()
    assert module.weight.dtype is torch.bfloat16
