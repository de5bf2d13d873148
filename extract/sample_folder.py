"""Sample directories that appear whole or not at all: written under a hidden name, then renamed."""

from __future__ import annotations

import os
import re
import secrets
import shutil
from collections.abc import Iterable, Sequence
from datetime import datetime
from pathlib import Path

from extract.model_ref import Trace
from extract.provenance import provenance_of_trace
from extract.sample import ALL_FILE_NAMES, SampleExtras, sample_files

_PART = re.compile(r"subgraph_\d+")


def write_samples(
    path: Path, traces: Sequence[tuple[Trace, datetime]], *, several: bool, model_name: str, source: str
) -> None:
    """Write the sample of a model from its traces and when they were made; with `several` they lie in subgraph_0/, ...

    A sample that was there before is replaced. Raises FileExistsError for a folder that holds anything else.
    """
    _check_replaceable(path)
    texts: list[tuple[str, str]] = []
    for number, (trace, traced_at) in enumerate(traces):
        prefix = f"subgraph_{number}/" if several else ""
        extras = SampleExtras(provenance_of_trace(trace, traced_at))
        files = sample_files(trace.graph, model_name=model_name, source=source, extras=extras)
        texts += [(prefix + name, text) for name, text in files.items()]
    path.parent.mkdir(parents=True, exist_ok=True)
    write_folder(path, texts, replace=True)


def graph_hashes_in(path: Path) -> list[str]:
    """Return the graph_sha256 of each graph that a sample's folder holds now; empty where there is none."""
    files = [path / "graph_hash.txt", *sorted(path.glob("subgraph_*/graph_hash.txt"))]
    return [file.read_text(encoding="utf-8").strip() for file in files if file.is_file()]


def write_folder(path: Path, files: Iterable[tuple[str, str]], *, replace: bool = False) -> None:
    """Write texts by relative name into a new folder, durably; an empty one gives way, with `replace` any.

    Raises OSError, and leaves nothing then.
    """
    made = path.with_name(f".tmp.{path.name}-{secrets.token_hex(4)}")
    try:
        for name, text in files:
            file = made / name
            file.parent.mkdir(parents=True, exist_ok=True)
            with file.open("w", encoding="utf-8", newline="\n") as stream:
                stream.write(text)
        _sync_all(made)
        _give_name(made, path, replace)
    finally:
        shutil.rmtree(made, ignore_errors=True)
    _sync(path.parent)


def _give_name(made: Path, path: Path, replace: bool) -> None:
    if not replace or not path.exists():
        made.rename(path)  # an empty folder gives way, a full one raises
        return
    old = path.with_name(f"{made.name}-old")
    path.rename(old)
    made.rename(path)
    shutil.rmtree(old)


def _check_replaceable(path: Path) -> None:
    """Refuse to replace what is no sample."""
    if not path.exists():
        return
    known = set(ALL_FILE_NAMES)
    for entry in path.iterdir():
        is_part = _PART.fullmatch(entry.name) and entry.is_dir() and {file.name for file in entry.iterdir()} <= known
        if entry.name not in known and not is_part:
            raise FileExistsError(f"{path} holds {entry.name}, which is no part of a sample; name another path")


def _sync_all(folder: Path) -> None:
    for above, _, names in os.walk(folder):
        for name in names:
            _sync(Path(above, name))
        _sync(Path(above))


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
