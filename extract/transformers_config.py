"""A transformers config to its identity: defaults filled in by its class, what the type's code cannot read left out.

Runs where transformers is, that is in a child. What a field may be left out for is in `extract.config_identity`.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import asdict
from functools import lru_cache
from pathlib import Path
from typing import Any, cast

import transformers
from transformers.models.auto import configuration_auto

from extract.config_identity import hash_config, is_always_left_out, leave_out, left_out_fields
from extract.shape_configs import Resize
from extract.transformers_inputs import SEQUENCE_LENGTH, TypeRow

_SUB_CONFIG_DEPTH = 3
# Fields by which a module is built for one size of its inputs.
_IMAGE_FIELDS = ("image_size", "img_size")
_SIZE_FIELDS = {
    "frames": ("max_source_positions", "num_frames", "max_length"),
    "sequence": ("context_length",),
}
# What many types share: heads, masks and positions are made here from the config.
_SHARED_FILES = ("modeling_layers.py", "masking_utils.py", "modeling_rope_utils.py", "backbone_utils.py")


def canonical_config(config: Any) -> dict[str, Any]:
    """Return a config's fields with all defaults of its class, less those that cannot change the graph."""
    switch_caches_off(config)
    fields = config.to_dict()
    types = frozenset(_model_types(fields))
    return leave_out(fields, lambda name: is_left_out(name, types))


def identify(config: Any, class_name: str, head: str, row: TypeRow) -> str:
    """Return `config_sha256` of a model: its canonical config, class, head, and how its inputs are made."""
    inputs = {
        "batch": 1,
        "sequence": SEQUENCE_LENGTH,
        **{name: asdict(row)[name] for name in ("inputs", "method", "placeholders", "runs", "counts")},
    }
    return hash_config("transformers", class_name, head, canonical_config(config), inputs)


def reduced_config(fields: Mapping[str, Any], config: Any) -> dict[str, Any]:
    """Return a repository's own fields less those that cannot change the graph; `config` is made of them."""
    types = frozenset(_model_types(config.to_dict()))
    return leave_out(fields, lambda name: is_left_out(name, types))


def is_left_out(name: str, model_types: frozenset[str]) -> bool:
    """Tell whether a field cannot change the graph of a model that is made of these types."""
    if is_always_left_out(name):
        return True
    if name in left_out_fields():
        return not _is_mentioned(name, model_types)
    return name.isidentifier() and not _is_known(name)


def is_left_out_of_own(name: str, files: Collection[str]) -> bool:
    """Tell whether a field cannot change the graph of a model whose code are these files and not transformers'."""
    if is_always_left_out(name):
        return True
    word = _word(name)
    return name in left_out_fields() and not any(word.search(text) for text in (_shared_text(), *files))


def switch_caches_off(config: Any) -> None:
    """Let a config and its parts ask for no cache: each trace is one call."""
    for part in _parts(config, _SUB_CONFIG_DEPTH):
        if getattr(part, "use_cache", False):
            part.use_cache = False


def resize_config(config: Any, resize: Resize) -> None:
    """Let a config and its parts state other sizes, where they state any; raises ValueError where one is not whole."""
    for part in _parts(config, _SUB_CONFIG_DEPTH):
        for name in _IMAGE_FIELDS if resize.changed & {"height", "width"} else ():
            if isinstance(size := getattr(part, name, None), int | list | tuple | dict) and size:
                setattr(part, name, _resized_image(size, resize))
        for axis, names in _SIZE_FIELDS.items():
            for name in names if axis in resize.changed else ():
                if isinstance(size := getattr(part, name, None), int):
                    setattr(part, name, resize.scale(size, axis))


def _resized_image(size: Any, resize: Resize) -> Any:
    """Return an image size in the spelling that it came in; one number becomes two where the sides differ."""
    if isinstance(size, dict):
        return {name: resize.scale(side, name) if name in ("height", "width") else side for name, side in size.items()}
    sides = [size, size] if isinstance(size, int) else [size[0], size[-1]]
    height, width = resize.scale(sides[0], "height"), resize.scale(sides[1], "width")
    if isinstance(size, int):
        return height if height == width else [height, width]
    return type(size)((height, width))


def modeling_text(model_type: str) -> str:
    """Return the modeling files of a type's module, one after the other."""
    return _modeling_text(configuration_auto.model_type_to_module_name(model_type))


def _parts(config: Any, depth: int) -> list[Any]:
    found = [config]
    if depth:
        for value in list(vars(config).values()):
            if isinstance(value, transformers.PreTrainedConfig):
                found += _parts(value, depth - 1)
    return found


def _model_types(fields: Mapping[str, Any]) -> Iterator[str]:
    """Yield the types of a config and of those inside it."""
    if isinstance(fields.get("model_type"), str):
        yield fields["model_type"]
    for value in fields.values():
        if isinstance(value, dict):
            yield from _model_types(cast("dict[str, Any]", value))


@lru_cache(maxsize=1 << 16)
def _is_mentioned(name: str, model_types: frozenset[str]) -> bool:
    """Tell whether the code of these types, or what they share, holds the name as a word."""
    word = _word(name)
    return any(word.search(text) for text in (_shared_text(), *map(modeling_text, sorted(model_types))))


def _word(name: str) -> re.Pattern[str]:
    return re.compile(rf"\b{re.escape(name)}\b")


@lru_cache(maxsize=1 << 16)
def _is_known(name: str) -> bool:
    """Tell whether any file of transformers holds the name; what none holds, none reads."""
    return name.encode() in _library_bytes()


def _root() -> Path:
    return Path(cast("str", transformers.__file__)).parent


@lru_cache(maxsize=4096)
def _modeling_text(module_name: str) -> str:
    paths = sorted((_root() / "models" / module_name).glob("modeling_*.py"))
    return "\n".join(path.read_text(encoding="utf-8") for path in paths)


@lru_cache(maxsize=1)
def _shared_text() -> str:
    paths = (_root() / name for name in _SHARED_FILES)
    return "\n".join(path.read_text(encoding="utf-8") for path in paths if path.exists())


@lru_cache(maxsize=1)
def _library_bytes() -> bytes:
    return b"\n".join(path.read_bytes() for path in sorted(_root().rglob("*.py")))
