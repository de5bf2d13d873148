"""timm models that call custom ops: import this module, and `timm.list_models()` names them beside the others."""

import torch
from timm.models import generate_default_cfgs, register_model

from tests.custom_ops import library_ops, python_ops, triton_ops


class Python(torch.nn.Module):
    """Calls every op of `python_ops` but the random one."""

    def __init__(self) -> None:
        super().__init__()
        self.head = torch.nn.Linear(8, 4)
        self.register_buffer("seen", torch.zeros(()))

    def forward(self, image: torch.Tensor) -> torch.Tensor:
        logits = python_ops.twice(self.head(image))
        total = torch.zeros_like(logits)
        python_ops.accumulate(logits, total)
        low, high = python_ops.bounds(python_ops.count(total, seen=self.seen), 1)
        return python_ops.mix([low, high], [0.25, 0.75], scale=2.0)


class Library(torch.nn.Module):
    """Calls an op of `torch.library.Library`."""

    def __init__(self) -> None:
        super().__init__()
        self.head = torch.nn.Linear(8, 4)

    def forward(self, image: torch.Tensor) -> torch.Tensor:
        return torch.ops.passnet_library.scale_(torch.ops.passnet_library.thrice(self.head(image)), 0.5)


class Triton(torch.nn.Module):
    """Calls an op that only a GPU can run."""

    def __init__(self) -> None:
        super().__init__()
        self.head = torch.nn.Linear(8, 4)

    def forward(self, image: torch.Tensor) -> torch.Tensor:
        logits = self.head(image)
        return triton_ops.add(logits, triton_ops.wrapped_add(logits, logits))


MODELS = {"custom_python": Python, "custom_library": Library, "custom_triton": Triton}
SOURCES = {"passnet_python": python_ops, "passnet_library": library_ops, "passnet_triton": triton_ops}
default_cfgs = generate_default_cfgs({f"{name}.none": {"input_size": (3, 8, 8)} for name in MODELS})


def _register(name: str, model: type[torch.nn.Module]) -> None:
    def build(pretrained: bool = False, **kwargs: object) -> torch.nn.Module:
        return model()

    build.__name__ = name
    register_model(build)


for _name, _model in MODELS.items():
    _register(_name, _model)
