"""Memory of real tensors that a program reached past torch: numpy arrays, pointers, storages that share it.

Whoever holds such an address can write without any call (`a = x.numpy(); a *= 2`, a raw Triton or CUDA kernel). Each
exposed storage is copied; when a recorded call takes an operand in it, the bytes must still be what they were.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch.multiprocessing.reductions import StorageWeakRef

from extract.arguments import map_tensors

# What hands out the memory of a tensor itself.
EXPOSING_NAMES = ("numpy", "__array__", "__dlpack__", "data_ptr", "storage", "untyped_storage", "_typed_storage")


@dataclass(slots=True)
class _Exposed:
    memory: torch.Tensor  # all bytes of the storage, kept alive
    copy: torch.Tensor


class ExposedMemory:
    """Copies of exposed storages, by address; costs nothing while nothing is exposed."""

    def __init__(self) -> None:
        self._exposed: dict[int, _Exposed] = {}

    def expose(self, tensor: torch.Tensor) -> None:
        """Watch the memory of a tensor from here on."""
        storage = storage_of(tensor)
        if storage is not None and storage.cdata not in self._exposed:
            memory = torch.empty(0, dtype=torch.uint8, device=tensor.device).set_(tensor.untyped_storage())
            self._exposed[storage.cdata] = _Exposed(memory, memory.clone())

    def has_changed(self, arguments: Any) -> bool:
        """Tell whether exposed memory of an operand was written since it was last looked at."""
        changed = False

        def compare(tensor: torch.Tensor) -> None:
            nonlocal changed
            exposed = self._find(tensor)
            changed = changed or (exposed is not None and not torch.equal(exposed.memory, exposed.copy))

        if self._exposed:
            map_tensors(arguments, compare)
        return changed

    def look_again(self, arguments: Any) -> None:
        """Take the bytes of operands as they are now, after a recorded call that may have written them."""

        def refresh(tensor: torch.Tensor) -> None:
            exposed = self._find(tensor)
            if exposed is not None:
                exposed.copy.copy_(exposed.memory)

        if self._exposed:
            map_tensors(arguments, refresh)

    def holds(self, tensor: torch.Tensor) -> bool:
        """Tell whether a tensor that torch does not know as an alias lies in exposed memory."""
        if not self._exposed or storage_of(tensor) is None:
            return False
        address = tensor.data_ptr()
        starts = [(exposed.memory.data_ptr(), exposed.memory.numel()) for exposed in self._exposed.values()]
        return any(start <= address < start + size for start, size in starts)

    def _find(self, tensor: torch.Tensor) -> _Exposed | None:
        storage = storage_of(tensor)
        return None if storage is None else self._exposed.get(storage.cdata)


def storage_of(tensor: torch.Tensor) -> StorageWeakRef | None:
    """Return a weak reference to a tensor's storage; null where it has none of its own."""
    try:
        return StorageWeakRef(tensor.untyped_storage())
    except (RuntimeError, NotImplementedError):
        return None
