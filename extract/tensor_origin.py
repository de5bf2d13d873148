"""Where the memory of a tensor comes from that no recorded call made: may it be a constant of the graph?

A constant is a tensor that was there before the run, or was made of plain numbers during it. Whatever else turns up
unknown holds the outcome of a call that nobody saw (C++ functions, scripts, transforms, other threads), and a graph
that froze it would be silently wrong. Memory is known by its storage, since aliases of one tensor are several objects.

On real tensors all must be told apart: `remember_existing` lists the tensors that are there before the run. On meta
and fake tensors an unknown tensor is an error anyhow, but for real ones among them: those are refused when an unseen
call made them, or when they share a data input's memory.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterable

import torch
from torch._C._functorch import is_functorch_wrapped_tensor
from torch.multiprocessing.reductions import StorageWeakRef

from extract.exposed_memory import ExposedMemory, storage_of


class TensorOrigins:
    """Remembers storages by address; weak references keep an address from being used twice."""

    def __init__(self) -> None:
        self.exposed = ExposedMemory()
        self._unseen: dict[int, tuple[StorageWeakRef, str]] = {}
        self._inputs: dict[int, StorageWeakRef] = {}
        self._allowed: dict[int, StorageWeakRef] | None = None
        self._bare: list[torch.Tensor] = []  # existing tensors without a storage: sparse ones, wrappers

    def remember_existing(self) -> None:
        """List the tensors there are, those that forward can reach through attributes, closures and globals too."""
        self._allowed = {}
        for tensor in _existing_tensors():
            self._allow(tensor)

    def remember_input(self, tensor: torch.Tensor) -> None:
        """Note that a tensor is a data input: what shares its memory is no constant."""
        storage = storage_of(tensor)
        if storage is not None:
            self._inputs[storage.cdata] = storage

    def remember_plain(self, tensor: torch.Tensor) -> None:
        """Note that a tensor was made of plain numbers during the run."""
        if self._allowed is not None:
            self._allow(tensor)

    def remember_unseen(self, tensor: torch.Tensor, call: str) -> None:
        """Note that `call`, which was not recorded, made a tensor."""
        storage = storage_of(tensor)
        if storage is not None and not self._is_allowed(storage):
            self._unseen[storage.cdata] = (storage, call)

    def is_unseen(self, tensor: torch.Tensor) -> bool:
        """Tell whether an unrecorded call of this run made a tensor."""
        storage = storage_of(tensor)
        return storage is not None and storage.cdata in self._unseen

    def refusal(self, tensor: torch.Tensor) -> str | None:
        """Return why a tensor cannot be a constant, null where it can."""
        if is_functorch_wrapped_tensor(tensor):
            return "is a wrapper of a torch.func transform"
        storage = storage_of(tensor)
        if storage is None:
            is_known = self._allowed is None or any(tensor is bare for bare in self._bare)
            return None if is_known else "was made outside the recorded calls"
        if storage.cdata in self._unseen:
            return f"was made outside the recorded calls, by {self._unseen[storage.cdata][1]}"
        if self.exposed.holds(tensor):
            return "shares memory that was handed out before, by a call outside the recorded ones"
        if storage.cdata in self._inputs:
            return "shares the memory of a data input, by a call outside the recorded ones"
        if self._allowed is not None and storage.cdata not in self._allowed:
            return "was made outside the recorded calls"
        return None

    def _allow(self, tensor: torch.Tensor) -> None:
        storage = storage_of(tensor)
        if self._allowed is None:
            return
        if storage is None:
            self._bare.append(tensor)
        else:
            self._allowed[storage.cdata] = storage

    def _is_allowed(self, storage: StorageWeakRef) -> bool:
        return self._allowed is not None and storage.cdata in self._allowed


def _existing_tensors() -> Iterable[torch.Tensor]:
    """The tensors that the garbage collector or a module's globals know (frozen objects hide from the former)."""
    for found in gc.get_objects():
        if issubclass(type(found), torch.Tensor):
            yield found
    for module in list(sys.modules.values()):
        for found in list(getattr(module, "__dict__", {}).values()):
            if issubclass(type(found), torch.Tensor):
                yield found
