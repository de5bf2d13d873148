"""Folders of samples on disk: which there are below a path, their files as bytes.

Only regular files of the layout's names are read, up to a size, and no symbolic link below the given path is followed.
"""

from __future__ import annotations

import hashlib
import os
import re
import stat
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from extract import sample_folder
from extract.failure import Reason, SubjectError
from extract.sample import ALL_FILE_NAMES
from storage.errors import UsageError
from storage.filesystem import explained, make_folder

_TELLING = frozenset({"model.py", "weight_meta.py", "graph_net.json"})
_PART = re.compile(r"subgraph_(0|[1-9]\d{0,5})")
# 30 MB is the largest graph's text; its metadata are of the same order.
MAX_FILE_BYTES = 128 << 20
MAX_SAMPLE_BYTES = 192 << 20


@dataclass(frozen=True, slots=True)
class SampleFolder:
    """One sample's folder: where it is, the model's name by its place, and which part of the model it is."""

    path: Path
    model: str
    part: int
    imported_from: str


def find_samples(root: Path) -> Iterator[SampleFolder]:
    """Yield the samples at and below a path, in the order of their names; raises UsageError when there is no folder."""
    if not root.is_dir():
        raise UsageError(f"{root} is not a folder", "name a sample's folder or one above samples")
    top = Path(os.path.abspath(root))
    for folder, folders, files in os.walk(top):
        folders.sort(key=_natural)
        if _TELLING.intersection(files):
            yield _sample_folder(top, Path(folder))


def read_files(folder: Path) -> dict[str, bytes]:
    """Return the bytes of a sample's files by name; raises `SubjectError` (too_large) for more than we read."""
    files: dict[str, bytes] = {}
    total = 0
    for name in ALL_FILE_NAMES:
        content = _read_regular(folder / name)
        if content is not None:
            files[name] = content
            total += len(content)
        if total > MAX_SAMPLE_BYTES:
            raise SubjectError(str(folder), Reason.TOO_LARGE, f"the files take more than {MAX_SAMPLE_BYTES} bytes")
    return files


def files_digest(files: Mapping[str, bytes]) -> str:
    """Return one SHA-256 over the files' names, sizes and bytes."""
    digest = hashlib.sha256()
    for name in sorted(files):
        digest.update(f"{name} {len(files[name])}\n".encode())
        digest.update(files[name])
    return digest.hexdigest()


def check_free(path: Path) -> None:
    """Raise UsageError unless `path` is absent or an empty folder."""
    if path.is_symlink() or (path.exists() and not path.is_dir()):
        raise UsageError(f"{path} exists and is no folder", "name a new folder")
    if path.is_dir() and any(path.iterdir()):
        raise UsageError(f"{path} exists and is not empty", "name a new or empty folder")


def write_folder(path: Path, files: Iterable[tuple[str, str]]) -> None:
    """Write texts by relative name into a folder that appears whole or not at all; an empty one gives way.

    Raises UsageError, WriteError where it cannot be written.
    """
    with explained(path):
        make_folder(path.parent)
        sample_folder.write_folder(path, files)


def _sample_folder(top: Path, folder: Path) -> SampleFolder:
    relative = folder.relative_to(top)
    parts = [top.name, *relative.parts] if len(relative.parts) == 0 else list(relative.parts)
    part = _PART.fullmatch(folder.name)
    if part is None:
        name = _plain("/".join(parts))
        return SampleFolder(folder, name, 0, name)
    above = parts[:-1] or [folder.parent.name]
    imported_from = _plain("/".join([*above, folder.name]))
    return SampleFolder(folder, _plain("/".join(above)), int(part.group(1)), imported_from)


def _plain(name: str) -> str:
    """Return a path as text that a table can hold: bytes that are no UTF-8 become backslash escapes."""
    return os.fsencode(name).decode("utf-8", "backslashreplace")


def _read_regular(path: Path) -> bytes | None:
    """Return a file's bytes; None where there is none, or a link, a pipe, a device."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        return None
    with os.fdopen(descriptor, "rb") as stream:
        facts = os.fstat(descriptor)
        if facts.st_size > MAX_FILE_BYTES:
            detail = f"{path.name} has {facts.st_size} bytes, at most {MAX_FILE_BYTES} are read"
            raise SubjectError(str(path.parent), Reason.TOO_LARGE, detail)
        return stream.read(MAX_FILE_BYTES)


def _natural(name: str) -> tuple[str, int]:
    part = _PART.fullmatch(name)
    return ("subgraph_", int(part.group(1))) if part else (name, 0)
