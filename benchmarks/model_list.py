"""Lists of model names: one a line, `#` starts a comment, `timm/` in front may be left out."""

from __future__ import annotations

from pathlib import Path

import timm

TRACE30 = Path(__file__).resolve().parents[1] / "data" / "models" / "trace30.txt"


def read_names(path: Path) -> list[str]:
    """Return timm's own names, in file order."""
    lines = (line.partition("#")[0].strip() for line in path.read_text(encoding="utf-8").splitlines())
    return [line.removeprefix("timm/") for line in lines if line]


def input_shape(name: str) -> tuple[int, ...]:
    """Return the shape of one image of the size that a timm model's own configuration names."""
    cfg = timm.get_pretrained_cfg(name)
    if cfg is None:
        raise LookupError(f"timm has no configuration for {name}")
    return (1, *cfg.input_size)
