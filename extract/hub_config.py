"""The files of a Hub repository to what can be traced of it: transformers-style, timm-style, an adapter, or a reason.

Pure: texts in, records out; nothing is fetched and no code of a repository is run.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Self, cast

from extract.config_identity import canonical_json, is_always_left_out, leave_out
from extract.failure import Reason, SubjectError
from extract.remote_code import RemoteCode

CONFIG_FILE, ADAPTER_FILE = "config.json", "adapter_config.json"
MAX_CONFIG_BYTES = 4 << 20  # 21,000 label names take 1.5 MB
_MAX_REPAIR_CHARS = 500
_MAX_DEPTH = 40  # configs inside configs are four deep

Library = Literal["transformers", "timm"]


@dataclass(frozen=True, slots=True)
class HubConfig:
    """What a repository says of its model: the library, its config without what matters to no graph, why it is traced
    as something else than it is (null: it is not), whether it names code of its own, and that code where it was asked
    for and is trusted."""

    library: Library
    config: Mapping[str, Any]
    model_class: str | None
    repairs: str | None = None
    has_custom_code: bool = False
    code: RemoteCode | None = None

    @classmethod
    def read(cls, fields: Mapping[str, Any]) -> Self:
        """Undo `dataclasses.asdict`; raises TypeError for other fields."""
        given: dict[str, Any] = {**fields, "code": RemoteCode.read(fields.get("code"))}
        return cls(**given)

    def key(self) -> str:
        """Return a text that equal configs, traced for equal reasons, share; a coarse identity, without the library."""
        code = self.code.sha256() if self.code else None
        return canonical_json([self.library, self.model_class, self.config, self.repairs, self.has_custom_code, code])


@dataclass(frozen=True, slots=True)
class ModelConfig:
    """One distinct config, enough to rebuild its model without the Hub; a row of `model_configs`.

    `config` is the repository's own, less the fields that cannot change the graph; `code` is what comes with it where
    the class is no library's.
    """

    config_sha256: str
    library: Library
    model_class: str
    model_type: str
    head: str | None
    config: Mapping[str, Any]
    code: RemoteCode | None = None

    @classmethod
    def read(cls, fields: Mapping[str, Any]) -> Self:
        """Undo `dataclasses.asdict`; raises TypeError for other fields."""
        given: dict[str, Any] = {**fields, "code": RemoteCode.read(fields.get("code"))}
        return cls(**given)


def parse_config(subject: str, content: bytes, file_name: str = CONFIG_FILE) -> dict[str, Any]:
    """Return a config file's fields; raises SubjectError (config_too_large, config_malformed)."""
    if len(content) > MAX_CONFIG_BYTES:
        detail = f"{file_name} holds more than {MAX_CONFIG_BYTES} bytes"
        raise SubjectError(subject, Reason.CONFIG_TOO_LARGE, detail)
    try:
        fields = json.loads(content.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        detail = f"{file_name} is not JSON: {type(error).__name__}: {error}"[:500]
        raise SubjectError(subject, Reason.CONFIG_MALFORMED, detail) from None
    if not isinstance(fields, dict):
        detail = f"{file_name} holds a {type(fields).__name__}, not an object"
        raise SubjectError(subject, Reason.CONFIG_MALFORMED, detail)
    if _is_deeper(fields, _MAX_DEPTH):
        raise SubjectError(subject, Reason.CONFIG_MALFORMED, f"{file_name} is nested more than {_MAX_DEPTH} deep")
    return cast("dict[str, Any]", fields)


def _is_deeper(value: Any, depth: int) -> bool:
    """Tell whether lists and objects stand in each other more than `depth` deep."""
    level: list[Any] = [value]
    for _ in range(depth + 1):
        level = [inner for element in level for inner in _elements(element)]
    return bool(level)


def _elements(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return list(cast("dict[str, Any]", value).values())
    return cast("list[Any]", value) if isinstance(value, list) else []


def adapter_base(subject: str, fields: Mapping[str, Any]) -> tuple[str, str]:
    """Return the base model's repository id of an adapter and what kind of adapter it is; raises SubjectError."""
    base = fields.get("base_model_name_or_path")
    if not isinstance(base, str) or not base.strip() or base.startswith((".", "/", "~")):
        detail = f"{ADAPTER_FILE} names no base model on the Hub (base_model_name_or_path is {str(base)[:100]!r})"
        raise SubjectError(subject, Reason.BASE_MISSING, detail)
    return base.strip(), str(fields.get("peft_type", "unknown"))[:40]


def recognise(subject: str, fields: Mapping[str, Any], adapter: str | None = None) -> HubConfig:
    """Return what a config describes; `adapter` says of which adapter it is the base.

    Raises SubjectError (unsupported_config, config_malformed) where it is no model of transformers or timm.
    """
    repairs = [f"adapter ({adapter}): traced as its base model"] if adapter else []
    if isinstance(fields.get("architecture"), str) and "model_type" not in fields:
        return _recognise_timm(fields, repairs)
    architectures = fields.get("architectures")
    if architectures is not None and not _are_names(architectures):
        detail = f"architectures is {str(architectures)[:100]!r}, not a list of names"
        raise SubjectError(subject, Reason.CONFIG_MALFORMED, detail)
    model_type = fields.get("model_type")
    if model_type is not None and not isinstance(model_type, str):
        raise SubjectError(subject, Reason.CONFIG_MALFORMED, f"model_type is {str(model_type)[:100]!r}, not a name")
    if not model_type and not architectures:
        detail = f"neither model_type nor architecture among its fields: {', '.join(list(fields)[:8])}"
        raise SubjectError(subject, Reason.UNSUPPORTED_CONFIG, detail)
    quantisation = fields.get("quantization_config") or fields.get("compression_config")
    if quantisation:
        repairs.append(f"quantised ({_method_of(quantisation)}): traced as the architecture without quantisation")
    return HubConfig(
        library="transformers",
        config=leave_out(dict(fields), is_always_left_out),
        model_class=architectures[0] if architectures else None,
        repairs="; ".join(repairs)[:_MAX_REPAIR_CHARS] or None,
        has_custom_code=bool(fields.get("auto_map")),
    )


_TIMM_FIELDS = ("num_classes", "model_args")
_TIMM_PRETRAINED_FIELDS = ("num_classes", "input_size", "fixed_input_size")


def _recognise_timm(fields: Mapping[str, Any], repairs: Sequence[str]) -> HubConfig:
    """Keep what timm builds a model from; older files have all of it at the top (timm.models._hub)."""
    nested = fields.get("pretrained_cfg")
    pretrained: Mapping[str, Any] = cast("dict[str, Any]", nested) if isinstance(nested, dict) else fields
    kept = {name: pretrained[name] for name in _TIMM_PRETRAINED_FIELDS if pretrained.get(name) is not None}
    kept |= {name: fields[name] for name in _TIMM_FIELDS if fields.get(name) is not None}
    architecture = str(fields["architecture"]).partition(".")[0]
    return HubConfig("timm", kept, architecture, "; ".join(repairs) or None)


def _are_names(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(name, str) for name in cast("list[Any]", value))


def _method_of(quantisation: Any) -> str:
    if not isinstance(quantisation, dict):
        return "unknown"
    fields = cast("dict[str, Any]", quantisation)
    loaded_in = [bits for bits in ("load_in_4bit", "load_in_8bit") if fields.get(bits)]
    return str(fields.get("quant_method") or (loaded_in or ["unknown"])[0])[:40]
