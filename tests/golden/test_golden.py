"""The golden vectors: fifty small samples whose hashes may never move, and the verifier that shares no code."""

from __future__ import annotations

import csv
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from extract.hashing import hash_graph
from extract.sample import read_sample, sample_files

FOLDER = Path(__file__).resolve().parent
VECTORS = list(csv.DictReader((FOLDER / "hashes.csv").read_text(encoding="utf-8").splitlines()))


def interpreters() -> list[str]:
    """Python 3.11, 3.12 and 3.13 as far as this machine has them; a pyenv's versions count."""
    found = {"3.11": sys.executable}
    for version in ("3.12", "3.13"):
        pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
        installed = sorted(pyenv.glob(f"versions/{version}.*/bin/python"))
        other = str(installed[-1]) if installed else shutil.which(f"python{version}")
        if other:
            found[version] = other
    return list(found.values())


def test_there_are_fifty_vectors_and_their_hashes_differ() -> None:
    assert len(VECTORS) == 50
    assert len({row["signature_sha256"] for row in VECTORS}) == 50


@pytest.mark.parametrize("row", VECTORS, ids=lambda row: row["sample"])
def test_our_hashes_of_a_golden_sample_do_not_move(row: dict[str, str]) -> None:
    folder = FOLDER / "samples" / row["sample"]
    graph = read_sample(folder)
    hashes = hash_graph(graph)
    assert hashes.graph_sha256 == row["graph_sha256"]
    assert hashes.signature_sha256 == row["signature_sha256"]
    assert hashes.structure_sha256 == row["structure_sha256"]
    assert sample_files(graph)["model.py"] == (folder / "model.py").read_text(encoding="utf-8")


@pytest.mark.parametrize("python", interpreters())
def test_the_stand_alone_verifier_gives_the_same_hashes(python: str) -> None:
    samples = [str(FOLDER / "samples" / row["sample"]) for row in VECTORS]
    command = [python, "-I", str(FOLDER / "verify_hashes.py"), *samples]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found = [line.split()[:3] for line in done.stdout.splitlines()]
    assert found == [[row["graph_sha256"], row["signature_sha256"], row["structure_sha256"]] for row in VECTORS]


def test_the_verifier_is_short_and_needs_the_standard_library_alone() -> None:
    text = (FOLDER / "verify_hashes.py").read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 200
    imported = {line.split()[1] for line in text.splitlines() if line.startswith(("import ", "from "))}
    assert imported <= set(sys.stdlib_module_names)
