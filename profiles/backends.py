"""Compiler backends by name: what each needs, and a module with example operands to a callable that runs it.

A backend that is not ours comes as an entry point of the group `passnet.backends`, an object of type `Backend`. What a
backend needs is asked for where it would run; one whose needs are missing is skipped with that reason.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import EntryPoint, entry_points
from typing import Any

import torch
from torch import fx

from extract.failure import describe
from profiles.timing import EAGER

Runner = Callable[..., Any]
"""Takes a program's operands, one by one, and returns its outputs as the program's module does."""

_GROUP = "passnet.backends"


@dataclass(frozen=True, slots=True)
class Backend:
    """A way to run a module.

    `needs` says in words what it takes; `find_missing` returns what of that is missing for a device (`cpu`, `cuda`),
    None where all is there; `build` returns what runs a module on operands like these. Either may compile, `build` or
    the first call.
    """

    name: str
    needs: str
    find_missing: Callable[[str], str | None]
    build: Callable[[fx.GraphModule, Sequence[torch.Tensor]], Runner]


class BackendError(Exception):
    """There is no backend of a name, or an entry point gives none; one line."""


def find_backends() -> dict[str, Backend]:
    """Return all backends by name: ours, then those of entry points; raises `BackendError` for one that is no backend.

    An entry point cannot take the name of one of ours.
    """
    found: dict[str, Backend] = dict(_OURS)
    for point in sorted(entry_points(group=_GROUP), key=lambda point: point.name):
        backend = _load(point)
        if not isinstance(backend, Backend):
            raise BackendError(f"entry point {point.value} of {_GROUP} is a {type(backend).__name__}, not a Backend")
        if backend.name in found:
            raise BackendError(f"entry point {point.value} of {_GROUP} gives a second backend {backend.name!r}")
        found[backend.name] = backend
    return found


def find_missing(backend: Backend, device: str) -> str | None:
    """Return what a backend lacks on a device (`cpu`, `cuda`), one line; None where all is there."""
    try:
        return backend.find_missing(device)
    except Exception as error:  # foreign code: a package that is installed and cannot be imported
        return describe(error)


def choose_backends(names: Sequence[str], known: Mapping[str, Backend]) -> list[Backend]:
    """Return the backends of these names in order, `eager` first, which others are compared with."""
    for name in names:
        if name not in known:
            raise BackendError(f"unknown backend {name!r}; choose among {', '.join(known)}")
    return [known[name] for name in dict.fromkeys((EAGER, *names))]


def _load(point: EntryPoint) -> object:
    try:
        return point.load()
    except Exception as error:  # foreign code
        raise BackendError(f"entry point {point.value} of {_GROUP} cannot be loaded ({describe(error)})") from error


def _nothing_missing(device: str) -> str | None:
    return None


def _missing_compiler(device: str) -> str | None:
    if device != "cuda":
        return None
    if importlib.util.find_spec("triton") is None:
        return "triton is not installed"
    major, minor = torch.cuda.get_device_capability()
    return None if major >= 7 else f"Triton needs compute capability 7.0, this device has {major}.{minor}"


def _missing_onnxruntime(device: str) -> str | None:
    for package in ("onnxruntime", "onnxscript"):
        if importlib.util.find_spec(package) is None:
            return f"{package} is not installed"
    import onnxruntime  # pyright: ignore[reportMissingImports]  an optional package

    provider = _PROVIDERS[device]
    return None if provider in onnxruntime.get_available_providers() else f"onnxruntime has no {provider} here"


_PROVIDERS = {"cpu": "CPUExecutionProvider", "cuda": "CUDAExecutionProvider"}


def _run_eager(module: fx.GraphModule, operands: Sequence[torch.Tensor]) -> Runner:
    return module.forward


def _compile(mode: str) -> Callable[[fx.GraphModule, Sequence[torch.Tensor]], Runner]:
    def build(module: fx.GraphModule, operands: Sequence[torch.Tensor]) -> Runner:
        return torch.compile(module, mode=mode, dynamic=False)

    return build


def _export_onnx(module: fx.GraphModule, operands: Sequence[torch.Tensor]) -> Runner:
    """Export to ONNX and run it in onnxruntime; operands and outputs are handed over without a copy where they can."""
    import onnxruntime  # pyright: ignore[reportMissingImports]  an optional package

    exported = torch.onnx.export(module, tuple(operands), dynamo=True, verbose=False)
    if exported is None:
        raise RuntimeError("torch.onnx.export gave no program")
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = torch.get_num_threads()
    device = operands[0].device.type if operands else "cpu"
    session = onnxruntime.InferenceSession(
        exported.model_proto.SerializeToString(), options, providers=[_PROVIDERS[device]]
    )
    names = [given.name for given in session.get_inputs()]
    made = [output.name for output in session.get_outputs()]

    def run(*operands: torch.Tensor) -> tuple[torch.Tensor, ...]:
        given = [onnxruntime.OrtValue.from_dlpack(operand.contiguous().detach(), False) for operand in operands]
        values = session.run_with_ort_values(made, dict(zip(names, given, strict=False)))
        return tuple(torch.from_dlpack(value) for value in values)

    return run


_OURS = {
    backend.name: backend
    for backend in (
        Backend(EAGER, "torch", _nothing_missing, _run_eager),
        Backend("inductor", "torch; g++ on a CPU, Triton on a GPU", _missing_compiler, _compile("default")),
        Backend(
            "inductor-max-autotune",
            "torch; g++ on a CPU, Triton on a GPU",
            _missing_compiler,
            _compile("max-autotune"),
        ),
        Backend("onnxruntime", "onnxruntime and onnxscript", _missing_onnxruntime, _export_onnx),
    )
}
