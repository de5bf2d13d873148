"""Source `hub`: models of the Hugging Face Hub, built from their config alone; nothing is fetched here.

A model id is `hub/<owner>/<repository>`. What its config is comes with each request (`use_config`), since only the
parent talks to the Hub.
"""

from __future__ import annotations

import copy
import importlib
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import transformers
from transformers.models.auto.configuration_auto import CONFIG_MAPPING, model_type_to_module_name

from extract import timm_source, transformers_source
from extract.config_identity import hash_config, leave_out
from extract.failure import Reason, SubjectError, describe
from extract.hub_config import HubConfig, ModelConfig
from extract.model_ref import Domain, ModelRef
from extract.remote_code import RemoteCode
from extract.sources import Preparation, Prepared
from extract.transformers_config import identify, is_left_out_of_own, reduced_config, switch_caches_off
from extract.transformers_heads import BASE_HEAD
from extract.transformers_inputs import SEQUENCE_LENGTH, TypeRow, row_of

SOURCE = "hub"

_configs: dict[str, ModelConfig] = {}


@dataclass(frozen=True, slots=True)
class Identity:
    """What a config turns out to be: the rebuilt noun, and what the library knows of its class."""

    config: ModelConfig
    family: str | None
    domain: Domain | None
    repairs: str | None


def use_config(model_id: str, config: ModelConfig) -> None:
    """Say from which config a model is to be built; the last one given stands."""
    _configs.clear()
    _configs[model_id] = config


def list_models(heads: tuple[str, ...] = ()) -> list[ModelRef]:
    """Return nothing: what there is on the Hub is asked of it by the parent (`storage.hub`)."""
    return []


def prepare(model_id: str, preparation: Preparation) -> Prepared:
    """Build a model from the config that came with the request; raises `SubjectError`."""
    config = _configs.get(model_id)
    if config is None:
        detail = "no config came with it; name it with --source hub --repo-list FILE"
        raise SubjectError(model_id, Reason.UNKNOWN_MODEL, detail)
    model = ModelRef(model_id, SOURCE, architecture=config.model_class, head=config.head)
    if config.library == "timm":
        canonical = timm_source.canonical_config(config.model_class, config.config)
        family, domain = timm_source.family_of(config.model_class), "cv"
        prepared = timm_source.prepare_from(replace(model, family=family, domain=domain), canonical, preparation)
        return replace(prepared, model=replace(prepared.model, head=None, modalities=("image",)))
    if config.code is not None:
        return _prepare_own_class(model, config, config.code, preparation)
    model = replace(
        model,
        family=model_type_to_module_name(config.model_type),
        domain=transformers_source.domain_of_class(config.model_class, config.model_type),
    )
    row = _row_of(config.model_type, str(config.head))
    return transformers_source.prepare_from(
        model, lambda: _make_config(config.model_type, config.config), row, preparation
    )


def identify_configs(configs: Sequence[HubConfig]) -> Iterator[Identity | SubjectError]:
    """Yield the identity of each config, or why it has none (unsupported_architecture, config_malformed,
    needs_remote_code)."""
    for config in configs:
        try:
            yield _identify(config)
        except SubjectError as failure:
            yield failure


def _identify(config: HubConfig) -> Identity:
    if config.library == "timm":
        return _identify_timm(config)
    own = _own_class(config)
    if own is not None:
        return own
    model_type, class_name, head, substitution = _class_of(config)
    row = _row_of(model_type, head)
    try:
        made = _make_config(model_type, config.config)
        reduced = reduced_config(config.config, made)
        # What is traced is the reduced config, so that is what is hashed.
        config_sha256 = identify(_make_config(model_type, reduced), class_name, head, row)
    except Exception as error:  # foreign code
        raise SubjectError(class_name, Reason.CONFIG_MALFORMED, f"{model_type}: {describe(error)}") from error
    repairs = [config.repairs, substitution, _CUSTOM_CODE if config.has_custom_code else None]
    return Identity(
        ModelConfig(config_sha256, "transformers", class_name, model_type, head, reduced),
        model_type_to_module_name(model_type),
        transformers_source.domain_of_class(class_name, model_type),
        "; ".join(filter(None, repairs)) or None,
    )


def _own_class(config: HubConfig) -> Identity | None:
    """Return the identity of a config whose class is the repository's own, from texts alone; None for others.

    Defaults of a class that is not executed are unknown, so configs that spell them out differ from those that do not.
    """
    model_type = config.config.get("model_type") or config.model_class
    code = config.code
    if code is None or config.model_class in _heads_by_class().get(str(model_type), {}):
        return None
    class_name = code.model.rpartition(".")[2]
    kept = leave_out(config.config, lambda name: is_left_out_of_own(name, code.files.values()))
    inputs = {"code": code.sha256(), "batch": 1, "sequence": SEQUENCE_LENGTH}
    config_sha256 = hash_config("transformers", class_name, code.head, kept, inputs)
    identified = ModelConfig(config_sha256, "transformers", class_name, str(model_type), code.head, kept, code)
    return Identity(identified, str(model_type), None, "; ".join(filter(None, [config.repairs, _OWN_CODE])))


def _prepare_own_class(model: ModelRef, config: ModelConfig, code: RemoteCode, preparation: Preparation) -> Prepared:
    """Execute a repository's code and build its model, where this process may; raises SubjectError."""
    if not _trusted:
        detail = f"{config.model_class} is code of the repository's own; --trust-remote-code runs it in isolation"
        raise SubjectError(model.model_id, Reason.NEEDS_REMOTE_CODE, detail)
    row = _row_of(config.model_type, str(config.head))
    try:
        own_class, own_config = import_classes(code)
    except Exception as error:  # foreign code
        raise SubjectError(model.model_id, Reason.BUILD_FAILED, f"its code: {describe(error)}") from error

    def make() -> Any:
        fields = copy.deepcopy(dict(config.config))
        made = own_config.from_dict(fields) if own_config else _make_config(config.model_type, fields)
        switch_caches_off(made)
        return made

    model = replace(model, family=config.model_type)
    return transformers_source.prepare_from(model, make, row, preparation, (own_class, config.config_sha256))


def import_classes(code: RemoteCode) -> tuple[Any, Any]:
    """Write the files into the working directory as a package, execute them, and return the classes of model and
    config (null where the code has none)."""
    package = f"remote_{code.sha256()[:16]}"
    folder = Path(package).absolute()
    for path, text in code.files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, encoding="utf-8")
    if str(folder.parent) not in sys.path:
        sys.path.append(str(folder.parent))
    found: list[Any] = []
    for name in (code.model, code.config):
        module, _, class_name = (name or "").rpartition(".")
        found.append(getattr(importlib.import_module(f"{package}.{module}"), class_name) if name else None)
    return found[0], found[1]


def trust_code() -> None:
    """Let this process execute the code that comes with configs; it is to be an isolated child."""
    global _trusted
    _trusted = True


_trusted = False
_OWN_CODE = "built by the repository's own code"
_CUSTOM_CODE = "names code of its own (auto_map): traced as the class of that name in transformers"


def _identify_timm(config: HubConfig) -> Identity:
    name = str(config.model_class)
    if name not in timm_source.names():
        detail = f"timm {timm_source.timm.__version__} has no architecture {name!r}"
        raise SubjectError(name, Reason.UNSUPPORTED_ARCHITECTURE, detail)
    try:
        config_sha256 = timm_source.identify(name, timm_source.canonical_config(name, config.config))
    except Exception as error:  # foreign config
        raise SubjectError(name, Reason.CONFIG_MALFORMED, f"{name}: {describe(error)}") from error
    identified = ModelConfig(config_sha256, "timm", name, name, None, dict(config.config))
    return Identity(identified, timm_source.family_of(name), "cv", config.repairs)


def _class_of(config: HubConfig) -> tuple[str, str, str, str | None]:
    """Return model type, class, head, and why the class is not the one that the config names; raises SubjectError."""
    named = config.model_class
    known = _heads_by_class()
    model_type = config.config.get("model_type") or _only_type_of(named)
    heads = known.get(model_type, {}) if model_type else {}
    if named in heads:
        return str(model_type), named, heads[named], None
    if config.has_custom_code:
        detail = f"{named or model_type} is code of the repository's own, which --trust-remote-code alone runs"
        raise SubjectError(str(named), Reason.NEEDS_REMOTE_CODE, detail)
    if model_type not in CONFIG_MAPPING:
        detail = f"transformers {transformers.__version__} has no type {model_type!r} ({named or 'no class named'})"
        raise SubjectError(str(named), Reason.UNSUPPORTED_ARCHITECTURE, detail)
    base = next((name for name, head in heads.items() if head == BASE_HEAD), None)
    if base is None:
        detail = f"{named or 'no class'} is no head of {model_type} in transformers, which has no base model of it"
        raise SubjectError(str(named), Reason.UNSUPPORTED_ARCHITECTURE, detail)
    said = f"class {named} is no task head of transformers" if named else "the config names no class"
    return str(model_type), base, BASE_HEAD, f"{said}: traced as the base model"


@lru_cache(maxsize=1)
def _heads_by_class() -> dict[str, dict[str, str]]:
    """Return, by model type, the head of each class: the first head that maps the type to it, base before others."""
    found: dict[str, dict[str, str]] = {}
    for head, classes in transformers_source.head_classes().items():
        for model_type, class_name in classes.items():
            found.setdefault(model_type, {}).setdefault(class_name, head)
    return found


def _only_type_of(class_name: str | None) -> str | None:
    """Return the one type that has a class of this name; old files name the class alone."""
    types = [model_type for model_type, classes in _heads_by_class().items() if class_name in classes]
    return types[0] if len(types) == 1 else None


def _row_of(model_type: str, head: str) -> TypeRow:
    """Return how inputs are made; what a table row repairs is the default config, which this is not."""
    row = row_of(model_type, head)
    return replace(row, config={}, init={}, config_class=None)


def _make_config(model_type: str, fields: Mapping[str, Any]) -> Any:
    given = {name: copy.deepcopy(value) for name, value in fields.items() if name != "model_type"}
    config = CONFIG_MAPPING[model_type](**given)
    switch_caches_off(config)
    return config
