"""Which ref a live tensor object stands for: the tracer's memory of identity.

An object is known by its id together with a weak reference that must still point to it, so an id that Python
reuses after a tensor's death is never mistaken for the dead one. A tensor seen for the first time is lifted into the
graph's tensor table with its origin: a data input, a registered parameter or buffer, or a constant (found in a plain
attribute of a module, or made of plain numbers outside the recorded calls). One of unknown origin
(`extract.tensor_origin`) is an error, never a guess. When tracing on meta or fake tensors, a real tensor gets a *twin*
that stands in for it in every call.
"""

from __future__ import annotations

import keyword
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any
from weakref import ref as weak_reference

import torch
from torch._subclasses.fake_tensor import FakeTensor

from extract.failure import Reason, SubjectError
from extract.graph import Kind, Ref, TensorMeta, TensorRef
from extract.statistics import measure_tensor
from extract.tensor_origin import TensorOrigins

_RESERVED = frozenset({"self", "torch", "operator", "inf", "nan", "device"})
_MAX_ATTRIBUTE_DEPTH = 4


@dataclass(slots=True)
class Lifted:
    """One tensor taken from outside: the object itself (kept alive), its record, its twin, its values when known."""

    tensor: torch.Tensor
    meta: TensorMeta
    twin: torch.Tensor | None = None
    known: torch.Tensor | None = None


def is_real(tensor: torch.Tensor) -> bool:
    """Tell whether a tensor holds values (neither meta nor fake)."""
    return not tensor.is_meta and not isinstance(tensor, FakeTensor)


class TensorIdentity:
    """Maps live tensors to refs and lifts new ones; `make_twin` is None when the trace runs on real tensors."""

    def __init__(
        self, module: torch.nn.Module, subject: str, make_twin: Callable[[torch.Tensor], torch.Tensor] | None
    ) -> None:
        self.lifted: list[Lifted] = []
        self.has_twins = False
        self._module = module
        self._subject = subject
        self._make_twin = make_twin
        self._refs: dict[int, tuple[weak_reference[torch.Tensor], Ref]] = {}
        self._partners: dict[int, torch.Tensor] = {}
        self._names: set[str] = set(_RESERVED)
        self.origins = TensorOrigins()
        self._registered = _registered_tensors(module)
        self._attributes: dict[int, tuple[torch.Tensor, str]] | None = None

    def find(self, tensor: torch.Tensor) -> Ref | None:
        """Return the newest ref of a live tensor, None when it was never seen."""
        entry = self._refs.get(id(tensor))
        return entry[1] if entry is not None and entry[0]() is tensor else None

    def find_own(self, tensor: torch.Tensor) -> Ref | None:
        """Return what `find` does, and the ref of a parameter or buffer seen for the first time."""
        return self.ref_of(tensor) if id(tensor) in self._registered else self.find(tensor)

    def bind(self, tensor: torch.Tensor, ref: Ref) -> torch.Tensor:
        """Let `tensor`, and the real tensor it is a twin of, stand for `ref`; return the one the program knows."""
        self._refs[id(tensor)] = (weak_reference(tensor), ref)
        partner = self._partners.get(id(tensor)) if self.has_twins else None
        if partner is None:
            return tensor
        self._refs[id(partner)] = (weak_reference(partner), ref)
        return partner if is_real(partner) else tensor

    def ref_of(self, tensor: torch.Tensor) -> Ref:
        """Return the ref of an operand, lifting it when new; raises `SubjectError` when its origin is unknown."""
        entry = self._refs.get(id(tensor))
        if entry is not None and entry[0]() is tensor:
            return entry[1]
        return self._lift_unseen(tensor)

    def is_held(self, tensor: torch.Tensor) -> bool:
        """Tell whether the module holds a tensor: as parameter, buffer or in a plain attribute."""
        registered = self._registered.get(id(tensor))
        return (registered is not None and registered[0] is tensor) or self._attribute_path(tensor) is not None

    def executable(self, tensor: torch.Tensor) -> torch.Tensor:
        """Return what stands in for `tensor` when a call is executed: its twin, or itself."""
        partner = self._partners.get(id(tensor))
        return partner if partner is not None and is_real(tensor) else tensor

    def lift(self, tensor: torch.Tensor, kind: Kind, original_name: str) -> TensorRef:
        """Enter a tensor into the table, with its statistics as they are now, and return its ref."""
        name = self._unique_name(original_name or kind)
        known = tensor.detach().clone() if self._make_twin is not None and is_real(tensor) else None
        meta = replace(measure_tensor(tensor, kind, original_name), name=name)
        lifted = Lifted(tensor, meta, known=known)
        ref = TensorRef(len(self.lifted))
        self.lifted.append(lifted)
        if kind == "input":
            self.origins.remember_input(tensor)
        if known is not None and self._make_twin is not None:
            lifted.twin = self._make_twin(known)
            self._pair(tensor, lifted.twin)
        self.bind(tensor, ref)
        return ref

    def _pair(self, tensor: torch.Tensor, twin: torch.Tensor) -> None:
        self._partners[id(tensor)] = twin
        self._partners[id(twin)] = tensor
        self.has_twins = True

    def _lift_unseen(self, tensor: torch.Tensor) -> Ref:
        registered = self._registered.get(id(tensor))
        if registered is not None and registered[0] is tensor:
            return self.lift(tensor, registered[1], registered[2])
        path, refusal = self._attribute_path(tensor), self.origins.refusal(tensor)
        if self._make_twin is not None and is_real(tensor) and tensor.numel() == 0:
            refusal = None  # no value can be lost: what holds none cannot come of data that holds none
        if path is None and not is_real(tensor):
            refusal = refusal or "was made outside the recorded calls"
        if refusal is not None:
            detail = f"a {tensor.dtype} tensor of shape {tuple(tensor.shape)} {refusal}"
            raise SubjectError(self._subject, Reason.UNTRACKED_TENSOR, detail)
        return self.lift(tensor, "constant", path or "")

    def _attribute_path(self, tensor: torch.Tensor) -> str | None:
        """Find a tensor among plain module attributes, as they were when one was first asked for."""
        if self._attributes is None:
            self._attributes = {id(found): (found, path) for path, found in attribute_tensors(self._module)}
        entry = self._attributes.get(id(tensor))
        return entry[1] if entry is not None and entry[0] is tensor else None

    def _unique_name(self, original_name: str) -> str:
        stem = re.sub(r"\W+", "_", original_name, flags=re.ASCII).strip("_") or "tensor"
        if stem[0].isdigit() or keyword.iskeyword(stem):
            stem = f"t_{stem}"
        name, count = stem, 1
        while name in self._names:
            count += 1
            name = f"{stem}_{count}"
        self._names.add(name)
        return name


def _registered_tensors(module: torch.nn.Module) -> dict[int, tuple[torch.Tensor, Kind, str]]:
    """Parameters and buffers by id; a tied tensor keeps its first qualified name."""
    table: dict[int, tuple[torch.Tensor, Kind, str]] = {}
    for name, parameter in module.named_parameters():
        table.setdefault(id(parameter), (parameter, "parameter", name))
    for name, buffer in module.named_buffers():
        table.setdefault(id(buffer), (buffer, "buffer", name))
    return table


def attribute_tensors(module: torch.nn.Module) -> Iterator[tuple[str, torch.Tensor]]:
    """Yield (qualified name, tensor) of the tensors in plain attributes, nested containers included."""
    for prefix, submodule in module.named_modules():
        for name, attribute in vars(submodule).items():
            if name not in ("_parameters", "_buffers", "_modules"):
                yield from _nested_tensors(f"{prefix}.{name}" if prefix else name, attribute, _MAX_ATTRIBUTE_DEPTH)


def _nested_tensors(path: str, attribute: Any, depth: int) -> Iterator[tuple[str, torch.Tensor]]:
    if isinstance(attribute, torch.Tensor):
        yield path, attribute
    elif depth and not isinstance(attribute, torch.nn.Module):
        for step, element in children(attribute):
            yield from _nested_tensors(f"{path}.{step}", element, depth - 1)


def children(container: Any) -> Iterator[tuple[str, Any]]:
    """Yield (step, element) of a list, tuple, mapping or dataclass instance, in its own order; nothing of others."""
    if isinstance(container, Mapping):
        yield from ((str(key), element) for key, element in list(container.items()))
    elif isinstance(container, list | tuple):
        yield from ((str(position), element) for position, element in enumerate(container))
    elif is_dataclass(container) and not isinstance(container, type):
        yield from ((field.name, getattr(container, field.name, None)) for field in fields(container))
