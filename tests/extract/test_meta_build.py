from __future__ import annotations

import torch

from extract.meta_build import build_on_meta


class Initialised(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(4, 8)
        torch.nn.init.trunc_normal_(self.linear.weight, std=0.02)
        self.table = torch.nn.Parameter(torch.zeros(3, 4).normal_(), requires_grad=False)
        self.linear.weight.data = torch.cat([self.linear.weight.data] * 2)
        index = torch.arange(6).view(2, 3).transpose(0, 1).contiguous()
        index[:, 0] += 1
        self.register_buffer("index", index)
        self.sizes = torch.linspace(0, 1, 3, device="cpu").tolist()


def test_a_model_built_on_meta_has_the_shapes_of_a_real_one():
    built, real = build_on_meta(Initialised), Initialised()
    facts = [
        {name: (t.shape, t.stride(), t.dtype, t.requires_grad) for name, t in module.state_dict(keep_vars=True).items()}
        for module in (built, real, build_on_meta(Initialised))
    ]
    assert facts[0] == facts[1] == facts[2]
    assert all(tensor.is_meta for tensor in built.state_dict().values())
    assert isinstance(built, Initialised) and built.sizes == [0.0, 0.5, 1.0]
    assert not built.training


def test_tied_and_frozen_parameters_stay_so():
    def tied() -> torch.nn.Module:
        module = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Linear(4, 4))
        module[1].weight = module[0].weight
        module[0].bias.requires_grad_(False)
        return module

    for _ in range(2):
        module = build_on_meta(tied)
        assert len(list(module.parameters())) == 3
        assert not module.get_parameter("0.bias").requires_grad


def test_a_move_leaves_a_valueless_tensor_where_it_is():
    class Moves(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("table", torch.empty(4, 2).to(device=torch.tensor(0.0).device).cpu())
            self.register_buffer("steps", torch.arange(3).to("meta"))

    built = build_on_meta(Moves, keep_small=True)
    assert built.table.is_meta
    assert built.steps.tolist() == [0, 1, 2]
