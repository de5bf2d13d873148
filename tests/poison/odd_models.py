"""timm models on which the two tracers part ways: import this module, and `timm.list_models()` names them."""

import time
from collections.abc import Callable

import torch
from timm.models import generate_default_cfgs, register_model

Body = Callable[[torch.Tensor], torch.Tensor]


class Odd(torch.nn.Module):
    """One linear layer and one odd step."""

    def __init__(self, body: Body) -> None:
        super().__init__()
        self.head = torch.nn.Linear(8, 4)
        self.body = body

    def forward(self, image: torch.Tensor) -> torch.Tensor:
        return self.body(self.head(image))


def _branch_on_value(logits: torch.Tensor) -> torch.Tensor:
    return logits.relu() if logits.sum() > 1e9 else logits.sigmoid() + 1


def _branch_on_compiling(logits: torch.Tensor) -> torch.Tensor:
    if torch.compiler.is_compiling():
        return logits.tanh()
    return logits.sin()


def _break(logits: torch.Tensor) -> torch.Tensor:
    logits = logits + 1
    torch._dynamo.graph_break()
    return logits * 2


def _twice(logits: torch.Tensor) -> torch.Tensor:
    for _ in range(2):
        logits = _double(logits)
        torch._dynamo.graph_break()
        logits = _again(logits)
    return logits


def _double(logits: torch.Tensor) -> torch.Tensor:
    return logits * 2


def _again(logits: torch.Tensor) -> torch.Tensor:
    return logits * 2


def _hang(logits: torch.Tensor) -> torch.Tensor:
    time.sleep(3600)
    return logits


def _agree(logits: torch.Tensor) -> torch.Tensor:
    return logits.add_(1).relu()


BODIES: dict[str, Body] = {
    "odd_value": _branch_on_value,
    "odd_compiling": _branch_on_compiling,
    "odd_break": _break,
    "odd_twice": _twice,
    "odd_hang": _hang,
    "odd_agree": _agree,
}
default_cfgs = generate_default_cfgs({f"{name}.none": {"input_size": (3, 8, 8)} for name in BODIES})


def _register(name: str, body: Body) -> None:
    def build(pretrained: bool = False, **kwargs: object) -> torch.nn.Module:
        return Odd(body)

    build.__name__ = name
    register_model(build)


for _name, _body in BODIES.items():
    _register(_name, _body)
