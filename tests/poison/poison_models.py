"""timm models that misbehave: import this module, and `timm.list_models()` names them beside the good ones.

Each does its harm in `forward` (`poison_build` while it is built). `REASONS` says what a run must call each of them.
"""

import ctypes
import hashlib
import os
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy
import torch
from timm.models import generate_default_cfgs, register_model

Harm = Callable[[torch.Tensor], object]


class Poison(torch.nn.Module):
    """One linear layer and one harm."""

    def __init__(self, harm: Harm) -> None:
        super().__init__()
        self.head = torch.nn.Linear(8, 4)
        self.harm = harm

    def forward(self, image: torch.Tensor) -> object:
        return self.harm(self.head(image))


def _segfault(logits: torch.Tensor) -> object:
    return ctypes.string_at(0)


def _hang(logits: torch.Tensor) -> object:
    time.sleep(3600)
    return logits


def _exit(logits: torch.Tensor) -> object:
    os._exit(3)


def _raise(logits: torch.Tensor) -> object:
    raise ValueError("poisoned\non two lines")


def _allocate(logits: torch.Tensor) -> object:
    with torch.device("cpu"):
        return torch.from_numpy(numpy.ones(30 << 27))


def _leak(logits: torch.Tensor) -> object:
    kept: list[bytes] = []
    while True:
        kept.append(b"x" * (64 << 20))
        time.sleep(0.005)


def _flood(logits: torch.Tensor) -> object:
    while True:
        sys.stdout.write("flood" * 1000)


def _fork(logits: torch.Tensor) -> object:
    for _ in range(64):
        if os.fork() == 0:
            time.sleep(600)
            os._exit(0)
        time.sleep(0.002)
    time.sleep(600)
    return logits


def _system_exit(logits: torch.Tensor) -> object:
    sys.exit("no more")


def _no_tensor(logits: torch.Tensor) -> object:
    return "a string"


def _interrupt(logits: torch.Tensor) -> object:
    raise KeyboardInterrupt


def _recurse(logits: torch.Tensor) -> object:
    return _recurse(logits)


def _close_pipes(logits: torch.Tensor) -> object:
    os.closerange(3, 1024)
    return logits


def _surrogate(logits: torch.Tensor) -> object:
    raise ValueError("no text: \ud800")


def _forge(logits: torch.Tensor) -> object:
    """Answers in another model's name."""
    import storage.records as records

    honest = records.rows_to_table

    def forged(table: str, rows: Sequence[Mapping[str, Any]]) -> Any:
        return honest(table, [{**row, "model_id": "timm/resnet18"} if "model_id" in row else row for row in rows])

    records.rows_to_table = forged
    return logits


def _change_dtype(logits: torch.Tensor) -> object:
    torch.set_default_dtype(torch.float64)
    return logits


def _change_hash(logits: torch.Tensor) -> object:
    hashlib.sha256 = hashlib.sha512  # type: ignore[assignment]
    return logits


# Traced as what they are, but each would spoil the next model in a process that it shared.
SPOILERS: dict[str, Harm] = {"poison_change_dtype": _change_dtype, "poison_change_hash": _change_hash}

_HARMS: dict[str, tuple[Harm, str]] = {
    "poison_segfault": (_segfault, "crashed"),
    "poison_hang": (_hang, "timeout"),
    "poison_exit": (_exit, "exited"),
    "poison_raise": (_raise, "forward_failed"),
    "poison_allocate": (_allocate, "out_of_memory"),
    "poison_leak": (_leak, "out_of_memory"),
    "poison_flood": (_flood, "output_flood"),
    "poison_fork": (_fork, "too_many_processes"),
    "poison_system_exit": (_system_exit, "exited"),
    "poison_no_tensor": (_no_tensor, "no_tensor_output"),
    "poison_interrupt": (_interrupt, "forward_failed"),
    "poison_recurse": (_recurse, "forward_failed"),
    "poison_close_pipes": (_close_pipes, "bad_reply"),
    "poison_surrogate": (_surrogate, "forward_failed"),
    "poison_forge": (_forge, "bad_reply"),
}
REASONS = {f"timm/{name}": reason for name, (_, reason) in _HARMS.items()} | {"timm/poison_build": "build_failed"}
TEN = tuple(f"timm/{name}" for name in list(_HARMS)[:10])

_NAMES = [*_HARMS, *SPOILERS, "poison_build"]
default_cfgs = generate_default_cfgs({f"{name}.none": {"input_size": (3, 8, 8)} for name in _NAMES})


def _register(name: str, harm: Harm | None) -> None:
    def build(pretrained: bool = False, **kwargs: object) -> torch.nn.Module:
        if harm is None:
            raise RuntimeError("cannot be built")
        return Poison(harm)

    build.__name__ = name
    register_model(build)


for _name, (_harm, _) in _HARMS.items():
    _register(_name, _harm)
for _name, _harm in SPOILERS.items():
    _register(_name, _harm)
_register("poison_build", None)
