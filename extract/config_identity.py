"""A model's config to `config_sha256`: what decides the graph, and nothing else (definitions.md section 1).

`data/hub/config_fields.csv` names the fields that cannot change the graph, each with its reason. Those marked
`unread` are left out only where the code of the model's type does not mention them, since a few types read what is
elsewhere a setting of generation; a field that no file of the library mentions cannot be read by it either. All
others are kept, unknown ones too. The number of labels is kept, their names are not.
"""

from __future__ import annotations

import csv
import hashlib
import json
from collections.abc import Callable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, cast

CONFIG_ALGORITHM = "passnet-config/1"
_TABLE = Path(__file__).resolve().parents[1] / "data" / "hub" / "config_fields.csv"
_LABELS = "id2label"

IsLeftOut = Callable[[str], bool]
"""Whether a field, by its name, is left out of a config."""


@lru_cache(maxsize=1)
def left_out_fields() -> dict[str, str]:
    """Return when each field of the table is left out: `always`, or where it is `unread` by the type's code."""
    with _TABLE.open(encoding="utf-8", newline="") as stream:
        return {row["field"]: row["when"] for row in csv.DictReader(stream)}


def is_always_left_out(name: str) -> bool:
    """Tell whether a field matters to no graph, whatever the model's type."""
    return left_out_fields().get(name) == "always"


def leave_out(config: Mapping[str, Any], is_left_out: IsLeftOut) -> dict[str, Any]:
    """Return a config without the fields that `is_left_out` names; label names become their number.

    The configs inside it (a field called `..._config`, or a dict with a model_type) are treated alike; other values
    stay as they are, but that tuples become lists and keys text. The order of keys is kept.
    """
    kept: dict[str, Any] = {}
    for name, value in config.items():
        if is_left_out(name):
            continue
        if isinstance(value, dict) and (name.endswith("config") or "model_type" in value):
            kept[name] = leave_out(cast("dict[str, Any]", value), is_left_out)
        else:
            kept[name] = _plain(value)
    labels = config.get(_LABELS)
    if isinstance(labels, dict | list):
        kept["num_labels"] = len(cast("list[Any]", labels))
    return kept


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _plain(element) for key, element in cast("dict[Any, Any]", value).items()}
    if isinstance(value, list | tuple):
        return [_plain(element) for element in cast("list[Any]", value)]
    return value


def canonical_json(value: Any) -> str:
    """Return a config as JSON with sorted keys and without spaces; what JSON lacks is written by `str`."""
    return json.dumps(value, sort_keys=True, default=str, separators=(",", ":"))


def hash_config(library: str, model_class: str, head: str | None, config: Mapping[str, Any], inputs: Any) -> str:
    """Return `config_sha256` of a canonical config with its class, head and input specification."""
    text = canonical_json([CONFIG_ALGORITHM, library, model_class, head, config, inputs])
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
