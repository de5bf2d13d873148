"""Freed memory that a process keeps: no page of a result is asked of the kernel twice."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from profiles import host_memory

ROOT = Path(__file__).parents[2]
FAULTS = """
import json, resource, sys, torch
from profiles.host_memory import describe_host_memory, keep_freed_memory
torch.set_num_threads(1)
kept = sys.argv[1] == "keep" and keep_freed_memory()
x = torch.ones(int(sys.argv[2]))

def call():
    y = x + 1
    return (y * 2).relu(), y

for _ in range(5):
    call()
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(20):
    call()
print(json.dumps([kept, resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before, describe_host_memory()]))
"""


PAGE = 4096


def count_faults(how: str, num_elements: int) -> tuple[bool, int, str]:
    command = [sys.executable, "-c", FAULTS, how, str(num_elements)]
    done = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
    kept, num_faults, said = json.loads(done.stdout)
    return kept, num_faults, said


@pytest.mark.parametrize("num_elements", [200_000, 20_000_000])
def test_results_take_no_page_from_the_kernel_again(num_elements: int) -> None:
    kept, num_faults, said = count_faults("keep", num_elements)
    if not kept:
        pytest.skip("the C library is not glibc")
    assert num_faults < 2 * num_elements * 4 / PAGE  # of 20 calls; the heap may grow once more, by one result
    assert said.startswith("glibc ") and said.endswith(", freed memory kept")


def test_results_too_large_for_the_heap_are_the_kernels_unless_they_are_kept() -> None:
    num_elements = 20_000_000  # over 32 MiB each, where glibc's own threshold ends; below it, it decides by what it saw
    kept, num_faults, said = count_faults("leave", num_elements)
    assert not kept and num_faults > 20 * num_elements * 4 / PAGE / 2
    assert said.endswith("returned as it decides")


def test_another_c_library_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(host_memory._Kept, "done", False)
    monkeypatch.setattr("platform.libc_ver", lambda: ("", ""))
    assert not host_memory.keep_freed_memory()
    assert host_memory.describe_host_memory() == "unknown, freed memory returned as it decides"
