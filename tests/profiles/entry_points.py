"""Backends that come as entry points: an installed distribution in a folder, as `pip install` would leave it."""

from __future__ import annotations

from pathlib import Path

from tests.profiles.foreign_backends import NAMES


def install(folder: Path, module: str, source: str, **points: str) -> Path:
    """Write a distribution with a module whose objects are entry points by name; return its folder, for `sys.path`."""
    metadata = folder / f"{module}-1.0.dist-info"
    metadata.mkdir(parents=True)
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {module}\nVersion: 1.0\n")
    lines = [f"{name} = {module}:{attribute}" for name, attribute in points.items()]
    (metadata / "entry_points.txt").write_text("\n".join(["[passnet.backends]", *lines, ""]))
    (folder / f"{module}.py").write_text(source)
    return folder


def install_foreign(folder: Path) -> Path:
    """Install the backends of `foreign_backends`."""
    source = Path(__file__).with_name("foreign_backends.py").read_text(encoding="utf-8")
    return install(folder, "passnet_foreign_backends", source, **{name: name for name in NAMES})
