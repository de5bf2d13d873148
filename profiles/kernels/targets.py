"""What a program is planned for: this machine's CPU, or a GPU that need not be here.

The figures of a described GPU are what `torch.cuda.get_device_properties` reports for it (NVIDIA's data sheets and the
CUDA programming guide, table of technical specifications per compute capability).
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class DeviceDescription:
    """The properties of a GPU that planning reads; memory in bytes."""

    name: str
    major: int
    minor: int
    multi_processor_count: int
    max_threads_per_multi_processor: int
    total_memory: int
    regs_per_multiprocessor: int = 65536
    max_threads_per_block: int = 1024
    warp_size: int = 32
    shared_memory_per_block: int = 49152
    shared_memory_per_block_optin: int = 166912
    L2_cache_size: int = 40 << 20


@dataclass(frozen=True, slots=True)
class Target:
    """A device by name, `cpu` or `cuda:<model>`; `description` is None where the device itself is asked."""

    name: str
    device: str
    description: DeviceDescription | None = None


def _gpu(name: str, *figures: int, shared: int, cache: int) -> Target:
    described = DeviceDescription(name, *figures, shared_memory_per_block_optin=shared, L2_cache_size=cache)
    return Target(f"cuda:{name.split()[1].lower()}", "cuda:0", described)


CPU = Target("cpu", "cpu")
TARGETS = {
    target.name: target
    for target in (
        CPU,
        _gpu("NVIDIA A30", 8, 0, 56, 2048, 24 << 30, shared=166912, cache=24 << 20),
        _gpu("NVIDIA A100", 8, 0, 108, 2048, 80 << 30, shared=166912, cache=40 << 20),
        _gpu("NVIDIA H100", 9, 0, 132, 2048, 80 << 30, shared=232448, cache=50 << 20),
        _gpu("NVIDIA H200", 9, 0, 132, 2048, 141 << 30, shared=232448, cache=60 << 20),
    )
}
