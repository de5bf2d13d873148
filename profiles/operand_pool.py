"""The operands of timed calls: cold ones out of memory that no cache still holds, or the same warm ones each time.

Cold on a CPU: copies of the operands take turns, and before each block of trials a buffer twice as large as the
last-level cache is read, so that none of the copies that the block will take is there; where there are fewer copies
than calls in a block, they are larger together than the cache, and push each other out. On a GPU the timer's device
flushes the cache before each trial, and one copy is enough. What a program writes into is put back before each trial,
so that no trial sees what another one left; that part of a cold copy is in the cache then.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch

from profiles.timing import Cache

_TIMES_CACHE = 2  # of the last-level cache: what is read last may evict what was read first by less than its size
_DEFAULT_CACHE_BYTES = 32 << 20  # where the kernel does not say
_MAX_POOL_BYTES = 1 << 30
_CALLS_PER_TRIAL = 32  # at most: 2 us become 64
_MAX_SMALL_BYTES = 1 << 28  # of copies beyond one for each trial of a block: eight times a last-level cache of 32 MiB


class OperandPool:
    """Copies of one program's operands."""

    def __init__(
        self,
        operands: Sequence[torch.Tensor],
        written: Sequence[int],
        cache: Cache,
        cache_bytes: int | None,
        block: int,
    ) -> None:
        """`written` are the operands that the program writes into; `block` is the number of trials in a block."""
        self._pristine = list(operands)
        self._written = tuple(written)
        is_cpu = all(operand.device.type == "cpu" for operand in operands)
        self._is_cold = cache == "cold" and is_cpu
        wanted = _TIMES_CACHE * (cache_bytes or _DEFAULT_CACHE_BYTES)
        num_bytes = max(sum(map(storage_bytes, operands)), 1)
        num_copies = 1
        if self._is_cold:
            most = max(min(block, _MAX_POOL_BYTES // num_bytes), _MAX_SMALL_BYTES // num_bytes, 1)
            num_copies = min(block * _CALLS_PER_TRIAL, most)
        self._copies = [copy_operands(operands) for _ in range(num_copies)]
        self._ballast = torch.ones(wanted // 8, dtype=torch.int64) if self._is_cold else None
        self._next = 0

    @property
    def num_copies(self) -> int:
        """How many copies take turns."""
        return len(self._copies)

    @property
    def max_calls(self) -> int:
        """How many copies may be taken before the first of them is used: as many as a trial takes at most, or as there
        are where the program writes into them."""
        return min(_CALLS_PER_TRIAL, self.num_copies) if self._written else _CALLS_PER_TRIAL

    def take(self) -> list[torch.Tensor]:
        """Return the next copy, as the program wants it: what it wrote into is as it was."""
        operands = self._copies[self._next]
        self._next = (self._next + 1) % len(self._copies)
        for index in self._written:
            operands[index] = _restored(operands[index], self._pristine[index])
        return operands

    def evict(self) -> None:
        """Drive the copies out of a CPU's caches; of no effect for warm operands and on a GPU."""
        if self._ballast is not None:
            self._ballast.sum()


def copy_operands(operands: Sequence[torch.Tensor]) -> list[torch.Tensor]:
    """Return copies that lie in memory as the operands do, also where elements share memory."""
    return [_copy(operand) for operand in operands]


def storage_bytes(tensor: torch.Tensor) -> int:
    """Return the bytes of the memory that a tensor's elements lie in, gaps included."""
    return tensor.untyped_storage().nbytes()


def move_operands(operands: Sequence[torch.Tensor], device: torch.device) -> list[torch.Tensor]:
    """Return the operands on a device, with their strides."""
    return [_copy(operand, device) for operand in operands]


def _restored(tensor: torch.Tensor, pristine: torch.Tensor) -> torch.Tensor:
    """Return a copy of what was written into, in place where it lies as it did: programs also change shapes."""
    if _layout(tensor) != _layout(pristine):
        return _copy(pristine)
    _memory(tensor).copy_(_memory(pristine))
    return tensor


def _layout(tensor: torch.Tensor) -> tuple[object, ...]:
    place = tensor.shape, tensor.stride(), tensor.storage_offset(), storage_bytes(tensor)
    return *place, tensor.dtype, tensor.is_conj(), tensor.is_neg()


def _memory(tensor: torch.Tensor) -> torch.Tensor:
    """Return all that a tensor's memory holds, each element once."""
    return torch.empty(0, dtype=tensor.dtype, device=tensor.device).set_(tensor.untyped_storage())


def _copy(tensor: torch.Tensor, device: torch.device | None = None) -> torch.Tensor:
    memory = _memory(tensor)
    copied = memory.clone() if device is None else memory.to(device, copy=True)
    return copied.as_strided(tensor.shape, tensor.stride(), tensor.storage_offset())
