"""The committed tables behind canonical names, schemas and size arguments, as plain dictionaries.

`extract.generate_op_tables` writes them from torch; everything that hashes only reads them, so hashing loads no
torch and gives one answer whatever torch is installed (definitions.md section 1).
"""

from __future__ import annotations

import csv
import json
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

TABLE_DIR = Path(__file__).resolve().parent.parent / "data"


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of a schema. `type` codes: T tensor, T[] tensors, i int, i[] ints, i[2] two ints or one, f float,
    f[] floats, n number, b bool, s str, dt dtype, dev device, lay layout, mf memory format, * anything; a trailing
    `?` allows None. `default` is the JSON value, meaningful when `has_default`."""

    name: str
    type: str
    keyword_only: bool
    has_default: bool
    default: Any


Signature = tuple[Parameter, ...]


@lru_cache(maxsize=1)
def load_op_names() -> dict[str, str]:
    """Return spelling -> canonical op name (`data/op_names.csv`)."""
    with (TABLE_DIR / "op_names.csv").open(encoding="utf-8", newline="") as lines:
        return {row["spelling"]: row["op"] for row in csv.DictReader(lines)}


@lru_cache(maxsize=1)
def load_size_args() -> frozenset[tuple[str, str]]:
    """Return the (op, argument) pairs whose integers are sizes (`data/size_args.csv`)."""
    with (TABLE_DIR / "size_args.csv").open(encoding="utf-8", newline="") as lines:
        return frozenset((row["op"], row["argument"]) for row in csv.DictReader(lines))


@lru_cache(maxsize=1)
def _load_schemas() -> dict[str, Any]:
    return json.loads((TABLE_DIR / "op_schemas.json").read_text(encoding="utf-8"))


@lru_cache(maxsize=8192)
def signatures_of(spelling: str, op: str) -> tuple[Signature, ...]:
    """Return the signatures to try, in order, for a call of `spelling`: its own, else those of the op."""
    schemas = _load_schemas()
    rows = schemas["spellings"].get(spelling) or schemas["ops"].get(op) or []
    return tuple(tuple(_parameter(row) for row in signature) for signature in rows)


@lru_cache(maxsize=8192)
def argument_order(op: str) -> dict[str, int]:
    """Return argument name -> position in the canonical line of `op`."""
    return {name: position for position, name in enumerate(_load_schemas()["order"].get(op, []))}


def dropped_arguments() -> frozenset[str]:
    """Return the names of arguments that cannot change what an op computes."""
    return frozenset(_load_schemas()["dropped"])


def _parameter(row: list[Any]) -> Parameter:
    name, type_code = row[0], row[1]
    return Parameter(name.lstrip("*"), type_code, name.startswith("*"), len(row) > 2, row[2] if len(row) > 2 else None)
