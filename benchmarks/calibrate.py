"""This machine's speed, to stand beside absolute times: hashing 1 GiB and sorting 50 M integers.

The peers are numpy's sort for polars' sort, and SHA-256 for xxh3-128. `ratio=` is numpy's sorting time over polars'
(both sort the same 64-bit integers once, after a warm-up on a hundredth of them); the hashes have no part in it.
"""

from __future__ import annotations

import hashlib
import os
import platform
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl
import xxhash

from benchmarks.report import make_parser, print_report

NUM_HASHED_BYTES = 1 << 30
NUM_SORTED_ROWS = 50_000_000
BLOCK_BYTES = 1 << 20
SEED = 2


def time_seconds(work: Callable[[], object]) -> float:
    """Return the wall time of one call."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def hash_blocks(algorithm: Callable[[], Any], num_bytes: int) -> str:
    """Hash `num_bytes` bytes, one block over and over."""
    block = bytes(range(256)) * (BLOCK_BYTES // 256)
    hasher = algorithm()
    for _ in range(num_bytes // BLOCK_BYTES):
        hasher.update(block)
    return hasher.hexdigest()


def measure(num_hashed_bytes: int, num_sorted_rows: int) -> dict[str, Any]:
    """Return times in seconds beside what the machine is."""
    numbers = np.random.default_rng(SEED).integers(0, 1 << 62, num_sorted_rows)
    series = pl.Series("numbers", numbers)
    np.sort(numbers[: num_sorted_rows // 100])
    series[: num_sorted_rows // 100].sort()
    return {
        "cpu": cpu_name(),
        "num_cores": os.cpu_count(),
        "hashed_bytes": num_hashed_bytes,
        "sorted_rows": num_sorted_rows,
        "sha256_s": time_seconds(lambda: hash_blocks(hashlib.sha256, num_hashed_bytes)),
        "xxh3_128_s": time_seconds(lambda: hash_blocks(xxhash.xxh3_128, num_hashed_bytes)),
        "polars_sort_s": time_seconds(lambda: series.sort()),
        "numpy_sort_s": time_seconds(lambda: np.sort(numbers)),
    }


def cpu_name() -> str:
    """Return the processor's model name, or its architecture where the system does not tell."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as lines:
            names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    except OSError:
        names = []
    return names[0] if names else platform.machine()


def main() -> None:
    """Measure and print."""
    parser = make_parser(__doc__)
    parser.add_argument("--hash-bytes", type=int, default=NUM_HASHED_BYTES)
    parser.add_argument("--sort-rows", type=int, default=NUM_SORTED_ROWS)
    options = parser.parse_args()
    figures = measure(options.hash_bytes, options.sort_rows)
    print_report(figures, figures["numpy_sort_s"] / figures["polars_sort_s"], as_json=options.json)


if __name__ == "__main__":
    main()
