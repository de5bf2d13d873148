"""Copies of operands: where they lie, who takes turns, and that no trial sees what another one wrote."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

from profiles.operand_pool import OperandPool, copy_operands, move_operands, storage_bytes

SMALL_CACHE = 1 << 12
CPU = torch.device("cpu")


def operands() -> list[torch.Tensor]:
    """One with gaps and an offset, one whose elements share memory, one without elements, one of integers."""
    gaps = torch.arange(24.0).as_strided((3, 2), (8, 2), 1)
    shared = torch.tensor([5.0]).expand(4)
    return [gaps, shared, torch.empty(0, 3), torch.tensor([3, 1])]


def layout(tensor: torch.Tensor) -> tuple[object, ...]:
    return tensor.shape, tensor.stride(), tensor.storage_offset(), tensor.dtype, storage_bytes(tensor)


@pytest.mark.parametrize("copied", [copy_operands, lambda given: move_operands(given, CPU)])
def test_copies_lie_as_the_operands_do_in_memory_of_their_own(
    copied: Callable[[list[torch.Tensor]], list[torch.Tensor]],
) -> None:
    given = operands()
    for old, new in zip(given, copied(given), strict=True):
        assert layout(old) == layout(new)
        assert torch.equal(old, new)
        assert not old.numel() or old.untyped_storage().data_ptr() != new.untyped_storage().data_ptr()


def test_cold_copies_take_turns_and_warm_ones_are_one() -> None:
    given = [torch.ones(4)]
    cold = OperandPool(given, (), "cold", SMALL_CACHE, block=3)
    num_calls = 3 * 32
    places = [cold.take()[0].data_ptr() for _ in range(2 * num_calls)]
    assert cold.num_copies == len(set(places)) == num_calls
    assert places[:num_calls] == places[num_calls:]
    warm = OperandPool(given, (), "warm", SMALL_CACHE, block=3)
    assert warm.num_copies == 1
    assert len({warm.take()[0].data_ptr() for _ in range(4)}) == 1
    assert given[0].data_ptr() not in places


def test_a_pool_of_large_operands_has_fewer_copies(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("profiles.operand_pool._MAX_POOL_BYTES", 100)
    monkeypatch.setattr("profiles.operand_pool._MAX_SMALL_BYTES", 80)
    assert OperandPool([torch.ones(1)], (), "cold", SMALL_CACHE, block=10).num_copies == 20
    assert OperandPool([torch.ones(10)], (), "cold", SMALL_CACHE, block=10).num_copies == 2
    assert OperandPool([torch.ones(100)], (), "cold", SMALL_CACHE, block=10).num_copies == 1


def test_a_trial_takes_no_copy_twice_that_the_program_writes_into(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("profiles.operand_pool._MAX_SMALL_BYTES", 80)
    given = [torch.ones(5)]
    pools = [OperandPool(given, written, "cold", SMALL_CACHE, block=2) for written in ((), (0,))]
    assert [pool.max_calls for pool in pools] == [32, 4]
    assert [pool.num_copies for pool in pools] == [4, 4]
    assert OperandPool(given, (0,), "warm", SMALL_CACHE, block=2).max_calls == 1


def test_a_program_without_operands_has_a_pool(monkeypatch: pytest.MonkeyPatch) -> None:
    pool = OperandPool([], (), "cold", None, block=2)
    pool.evict()
    assert pool.take() == []


def test_evicting_reads_twice_the_cache_and_only_for_cold_operands(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[int] = []
    total = torch.Tensor.sum
    monkeypatch.setattr(torch.Tensor, "sum", lambda self: (read.append(self.nbytes), total(self))[1])
    for cache, cache_bytes in (("cold", SMALL_CACHE), ("cold", None), ("warm", SMALL_CACHE)):
        OperandPool([torch.ones(1)], (), cache, cache_bytes, 1).evict()
    assert read == [2 * SMALL_CACHE, 64 << 20]


WRITES: dict[str, Callable[[torch.Tensor], object]] = {
    "values": lambda x: x.mul_(torch.inf),
    "an axis more": lambda x: x.unsqueeze_(0),
    "transposed": lambda x: x.t_(),
    "grown": lambda x: x.resize_(7, 9),
    "emptied": lambda x: x.resize_(0),
    "other memory": lambda x: setattr(x, "data", torch.zeros(2)),
}


@pytest.mark.parametrize("cache", ["cold", "warm"])
@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES.keys())
def test_what_was_written_is_as_it_was(cache: str, write: Callable[[torch.Tensor], object]) -> None:
    given = [torch.arange(6.0).view(2, 3), torch.ones(2)]
    pool = OperandPool(given, (0,), "cold" if cache == "cold" else "warm", SMALL_CACHE, block=2)
    for _ in range(5):
        taken, _ = pool.take()
        assert layout(taken) == layout(given[0])
        assert torch.equal(taken, torch.arange(6.0).view(2, 3))
        write(taken)
    assert torch.equal(given[0], torch.arange(6.0).view(2, 3))


def test_elements_that_share_memory_are_put_back() -> None:
    given = [torch.tensor([5.0]).expand(4)]
    pool = OperandPool(given, (0,), "warm", SMALL_CACHE, block=1)
    pool.take()[0].as_strided((1,), (1,)).fill_(7.0)
    assert pool.take()[0].tolist() == [5.0] * 4


def test_what_is_not_written_is_not_copied_again() -> None:
    pool = OperandPool([torch.ones(2), torch.ones(2)], (0,), "warm", SMALL_CACHE, block=1)
    for operand in pool.take():
        operand.zero_()
    assert [operand.tolist() for operand in pool.take()] == [[1.0, 1.0], [0.0, 0.0]]
