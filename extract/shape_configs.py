"""Shape configs: the table of factors by which a model's own input sizes are multiplied (definitions.md section 5).

`data/shape_configs.csv` has per table (one for each modality, and `batch_only`) rows 0 to 9 and the held-out rows 10
and 11. A size is known by its axis' name. Pure: no model is built here.
"""

from __future__ import annotations

import csv
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from pathlib import Path

TABLE = Path(__file__).resolve().parents[1] / "data" / "shape_configs.csv"
AXES = ("batch", "height", "width", "sequence", "frames", "samples")
DTYPES = ("float32", "float16", "bfloat16")
CONFIGS = tuple(range(10))
HELD_OUT = (10, 11)
BATCH_ONLY = "batch_only"

Sizes = Mapping[str, int]
Factors = Mapping[str, Fraction]

_TABLES = {"text": "text", "image": "image", "video": "video", "audio": "audio", "time": "series"}


@dataclass(frozen=True, slots=True)
class Resize:
    """From a model's own sizes to other ones; both name every axis that its inputs have."""

    own: Sizes
    sizes: Sizes

    @property
    def changed(self) -> frozenset[str]:
        """Axes whose sizes differ."""
        return frozenset(axis for axis, size in self.sizes.items() if size != self.own.get(axis))

    def scale(self, size: int, axis: str) -> int:
        """Return a size of an axis as many times larger as the axis is; raises ValueError when that is not whole."""
        if axis not in self.changed:
            return size
        return _whole(size * Fraction(self.sizes[axis], self.own[axis]), axis)


@lru_cache(maxsize=1)
def load_table() -> Mapping[str, tuple[Factors, ...]]:
    """Return the rows of each table by their number: the factors other than one."""
    rows: dict[str, list[Factors]] = {}
    with TABLE.open(encoding="utf-8", newline="") as lines:
        for row in csv.DictReader(lines):
            table = rows.setdefault(row["table"], [])
            if int(row["config"]) != len(table):
                raise ValueError(f"{TABLE.name}: {row['table']},{row['config']} should be row {len(table)}")
            table.append({axis: Fraction(row[axis]) for axis in AXES if row[axis]})
    return {table: tuple(factors) for table, factors in rows.items()}


def choose_table(modalities: Collection[str], axes: Collection[str]) -> str:
    """Return the table for a model that takes these modalities (text, image, video, audio, time); where it takes none
    that has a name, the axes of its inputs decide."""
    if len(set(modalities)) > 1:
        return "multimodal"
    if modalities:
        return _TABLES[next(iter(modalities))]
    if "height" in axes:
        return "video" if "frames" in axes else "image"
    return "audio" if "frames" in axes or "samples" in axes else "text"


def scale_sizes(own: Sizes, factors: Factors) -> dict[str, int]:
    """Return a model's own sizes times a row's factors, those of other axes left out; raises ValueError when one is not
    whole."""
    return {axis: _whole(size * factors.get(axis, Fraction(1)), axis) for axis, size in own.items()}


def _whole(size: Fraction, axis: str) -> int:
    if size.denominator != 1 or size < 1:
        raise ValueError(f"{axis} would be {size}, which is no whole number of at least 1")
    return int(size)
