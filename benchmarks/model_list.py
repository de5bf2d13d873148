"""Lists of model names: one a line, `#` starts a comment, `timm/` in front may be left out."""

from __future__ import annotations

from pathlib import Path

TRACE30 = Path(__file__).resolve().parents[1] / "data" / "models" / "trace30.txt"


def read_names(path: Path) -> list[str]:
    """Return timm's own names, in file order."""
    lines = (line.partition("#")[0].strip() for line in path.read_text(encoding="utf-8").splitlines())
    return [line.removeprefix("timm/") for line in lines if line]
