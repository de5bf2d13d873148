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


@pytest.mark.parametrize("num_elements", [200_000, 20_000_000])
def test_results_take_no_page_from_the_kernel_again(num_elements: int) -> None:
    found = {}
    for how in ("keep", "leave"):
        command = [sys.executable, "-c", FAULTS, how, str(num_elements)]
        done = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
        found[how] = json.loads(done.stdout)
    kept, num_faults, said = found["keep"]
    if not kept:
        pytest.skip("the C library is not glibc")
    assert num_faults < found["leave"][1] / 10  # the heap may grow once more, by one result
    assert said.startswith("glibc ") and said.endswith(", freed memory kept")
    kept, others, said = found["leave"]
    assert not kept and others > 20 * num_elements * 4 / 4096 / 2
    assert said.endswith("returned as it decides")


def test_another_c_library_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(host_memory._Kept, "done", False)
    monkeypatch.setattr("platform.libc_ver", lambda: ("", ""))
    assert not host_memory.keep_freed_memory()
    assert host_memory.describe_host_memory() == "unknown, freed memory returned as it decides"
