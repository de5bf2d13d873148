"""Overrides of instances as JSON, and back: `[[op, path, value], ...]`, values as `extract.literals` writes them."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from extract.literals import value_from_json, value_json
from mining.instance import Override

_dumps = json.JSONEncoder(separators=(",", ":")).encode


def overrides_json(overrides: Iterable[Override]) -> str:
    """Return overrides as one JSON text, lossless."""
    texts = [f"[{override.op},{_dumps(override.path)},{value_json(override.value)}]" for override in overrides]
    return f"[{','.join(texts)}]"


def overrides_from_json(text: str) -> tuple[Override, ...]:
    """Return the overrides behind a JSON text; raises ValueError on a text that is not ours."""
    try:
        return tuple([_override(*entry) for entry in json.loads(text)])
    except (TypeError, KeyError) as error:
        raise ValueError(f"these are no overrides: {text[:200]}") from error


def _override(op: int, path: list[str | int], value: Any) -> Override:
    return Override(op, tuple(path), value_from_json(value))
