"""Source `transformers`: every model type of the AutoModel mapping, from its default config, without weights.

A model id is `transformers/<type>` for the base model and `transformers/<type>/<head>` for a task head. Configs that
cannot run as published are repaired, and inputs made, by `extract.transformers_inputs` and its table.
"""

from __future__ import annotations

import importlib
import inspect
import logging
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from operator import attrgetter
from pathlib import Path
from typing import Any, cast

import torch
import transformers
from transformers import AutoConfig
from transformers.initialization import no_init_weights
from transformers.models.auto import configuration_auto, modeling_auto

from extract import video_tracking
from extract.failure import Reason, SubjectError, describe
from extract.meta_build import build_on_meta
from extract.model_ref import Domain, ModelRef
from extract.random_weights import randomise_weights
from extract.shape_configs import Resize, Sizes
from extract.sources import Inputs, Preparation, Prepared, check_size
from extract.transformers_changes import build_masks_by_broadcast, forget_cached_tensors, run_experts_as_batches
from extract.transformers_config import identify, modeling_text, resize_config, switch_caches_off
from extract.transformers_heads import ALL_HEADS, BASE_HEAD, head_mappings
from extract.transformers_inputs import InputPlan, TypeRow, evaluate_config, load_rules, row_of

SOURCE = "transformers"
_PREFIX = "transformers/"
_LICENCE = re.compile(r"Licensed under the Apache License, Version 2\.0|SPDX-License-Identifier:\s*(\S+)|MIT License")
_MODALITY_NAMED = re.compile(r"\b(image|video|audio|speech|multimodal)", re.IGNORECASE)
_NUM_FEATURES = re.compile(r"tokens?\b.*\bfeatures?:? (\d+)", re.IGNORECASE)
_MAX_PLACEHOLDERS = 20_000

log = logging.getLogger(__name__)


@lru_cache(maxsize=1)
def head_classes() -> dict[str, dict[str, str]]:
    """Return class name by model type for each head, from the Auto classes' mappings."""
    return {head: _class_names(getattr(modeling_auto, mapping)) for head, mapping in head_mappings().items()}


def list_models(heads: tuple[str, ...] = (BASE_HEAD,)) -> list[ModelRef]:
    """Return every (type, head) pair that transformers names, heads in the order given; builds none.

    Raises ValueError for a head that transformers lacks.
    """
    table = head_classes()
    chosen = list(table) if ALL_HEADS in heads else list(heads)
    if unknown := [head for head in chosen if head not in table]:
        raise ValueError(f"head {unknown[0]!r} is none of: {', '.join(table)}")
    return [_model_ref(kind, head, name) for head in chosen for kind, name in table[head].items()]


def prepare(model_id: str, preparation: Preparation) -> Prepared:
    """Build a model from its (repaired) default config and make its inputs ready; raises `SubjectError`."""
    model_type, head, class_name = _known(model_id)
    row = row_of(model_type, head)
    model = _model_ref(model_type, head, class_name)
    prepared = prepare_from(model, lambda: make_config(model_type, row), row, preparation)
    repairs = row.reason if row.config or row.init or row.config_class or row.model_class or row.method else None
    return replace(prepared, model=replace(prepared.model, repairs=repairs))


def prepare_from(
    model: ModelRef,
    make: Callable[[], Any],
    row: TypeRow,
    preparation: Preparation,
    own: tuple[Any, str] | None = None,
) -> Prepared:
    """Build the class that `model` names as its architecture from the config that `make` returns, and its inputs.

    `own` is a class that is not transformers' and its `config_sha256`. Raises `SubjectError`. The record that comes
    back has what building showed.
    """
    model_id, class_name = model.model_id, str(model.architecture)
    build_masks_by_broadcast()
    try:
        config = make()
        if own is not None:
            model_class, config_sha256 = own
        else:
            model_class = _model_class(class_name, row)
            config_sha256 = identify(config, class_name, str(model.head), row)
        if preparation.resize is not None:
            resize_config(config, preparation.resize)
        module = _build(model_class, config, preparation)
        if row.method is not None:
            module.forward = _method(module, row.method)
        for path in row.cached:
            attrgetter(path)(module)
        plan = InputPlan(config, module.forward, row, preparation.batch_size)
        plan.set_counts()
        plan.counts.update(_learnt.get(model_id, {}))
        own_sizes = plan.own_sizes()
    except MemoryError as error:
        raise SubjectError(model_id, Reason.OUT_OF_MEMORY, describe(error)) from error
    except Exception as error:  # foreign code
        raise SubjectError(model_id, Reason.BUILD_FAILED, describe(error)) from error
    num_parameters = check_size(model_id, module, preparation.max_params)

    prepared = replace(
        _completed(model, model_class),
        num_parameters=num_parameters,
        config_sha256=config_sha256,
        unused_reason=row.unused,
        modalities=plan.modalities(),
    )
    device = "meta" if preparation.weights == "meta" else "cpu"
    sized = _Sized(prepared, module, plan, device, own_sizes)
    return sized.with_own_sizes() if preparation.resize is None else sized.with_sizes(preparation.resize.sizes)


@dataclass(frozen=True, slots=True)
class _Sized:
    """A module whose inputs may have other sizes than its config's; each learns its own numbers of placeholders."""

    model: ModelRef
    module: torch.nn.Module
    plan: InputPlan
    device: str
    own_sizes: Sizes

    def with_own_sizes(self) -> Prepared:
        return self._prepared(self.plan, self.own_sizes, is_own=True)

    def with_sizes(self, sizes: Sizes) -> Prepared:
        plan = replace(self.plan, resize=Resize(self.own_sizes, sizes), counts=dict(self.plan.counts))
        return self._prepared(plan, sizes, is_own=False)

    def _prepared(self, plan: InputPlan, sizes: Sizes, *, is_own: bool) -> Prepared:
        model_id = self.model.model_id

        def make_inputs(seed: int) -> Inputs:
            forget_cached_tensors()
            try:
                return Inputs((), plan.make(seed, self.device))
            except Exception as error:  # foreign config
                raise SubjectError(model_id, Reason.INPUTS_FAILED, describe(error)) from error

        def learn(failure: SubjectError) -> bool:
            has_learnt = _learn(plan, failure)
            if has_learnt and is_own:
                _learnt[model_id] = dict(plan.counts)
            return has_learnt

        carriers = load_rules().carriers
        return Prepared(self.model, self.module, make_inputs, carriers, learn, sizes, self.with_sizes)


_learnt: dict[str, dict[str, int]] = {}


def _learn(plan: InputPlan, failure: SubjectError) -> bool:
    """Take the number of placeholders from the model's own check; tell whether that changed anything."""
    match, named = _NUM_FEATURES.search(failure.detail), _MODALITY_NAMED.search(failure.detail)
    if match is None:
        return False
    modality = named[1].lower().replace("speech", "audio").replace("multimodal", "image") if named else "image"
    count = int(match[1])
    if count > _MAX_PLACEHOLDERS:  # some checks count numbers and not rows
        count //= plan.config.get_text_config().hidden_size
    count //= 1 if plan.resize is None else plan.resize.sizes["batch"]  # checks count the whole batch
    if plan.counts.get(modality) == count:
        return False
    plan.counts[modality] = count
    return True


def make_config(model_type: str, row: TypeRow) -> Any:
    """Return a type's default config with the table's repairs, caches switched off throughout."""
    init = {name: evaluate_config(None, text) for name, text in row.init.items()}
    config = _find(row.config_class)(**init) if row.config_class else AutoConfig.for_model(model_type, **init)
    for path, text in row.config.items():
        owner_path, _, name = path.rpartition(".")
        owner = config
        for step in filter(None, owner_path.split(".")):
            owner = owner[step] if isinstance(owner, dict) else getattr(owner, step)
        value = evaluate_config(config, text)
        if isinstance(owner, dict):
            owner[name] = value
        else:
            setattr(owner, name, value)
    switch_caches_off(config)
    return config


def _build(model_class: Any, config: Any, preparation: Preparation) -> torch.nn.Module:
    def construct() -> torch.nn.Module:
        return model_class._from_config(config, dtype=torch.float32)

    if preparation.weights == "meta":
        with no_init_weights():
            module = build_on_meta(construct, keep_small=True)
        cast("Any", module).tie_weights(recompute_mapping=False)  # no_init_weights left that out with the rest
    else:
        torch.manual_seed(preparation.seed)
        module = construct().eval()
        randomise_weights(module, preparation.seed)
    run_experts_as_batches(module)
    return module


def _method(module: torch.nn.Module, name: str) -> Callable[..., Any]:
    own = getattr(module, name, None)
    return own if own is not None else partial(getattr(video_tracking, name), module)


def _known(model_id: str) -> tuple[str, str, str]:
    model_type, _, head = model_id.removeprefix(_PREFIX).partition("/")
    table = head_classes()
    head = head or BASE_HEAD
    if model_id.startswith(_PREFIX) and head in table and model_type in table[head]:
        return model_type, head, table[head][model_type]
    known = [kind for kind, names in table.items() if model_type in names]
    hint = f"{model_type} has the heads {', '.join(known)}" if known else "no model type has that name"
    raise SubjectError(model_id, Reason.UNKNOWN_MODEL, f"transformers {transformers.__version__}: {hint}")


def _class_names(mapping: Mapping[str, Any]) -> dict[str, str]:
    return {kind: names[0] if isinstance(names, list | tuple) else names for kind, names in mapping.items()}


def _model_class(class_name: str, row: TypeRow) -> Any:
    return _find(row.model_class or class_name)


def _find(name: str) -> Any:
    """Return a class of transformers by its name, or by module and name (`models.x.modeling_x:Class`)."""
    module_name, _, attribute = name.rpartition(":")
    module = importlib.import_module(f"transformers.{module_name}") if module_name else transformers
    return getattr(module, attribute)


def domain_of_class(class_name: str, model_type: str) -> Domain | None:
    """Return the domain of what a class takes, from its source text; None where the text does not say."""
    return _domain_of(_modalities(class_name, model_type))


def _model_ref(model_type: str, head: str, class_name: str) -> ModelRef:
    return ModelRef(
        model_id=f"{_PREFIX}{model_type}" if head == BASE_HEAD else f"{_PREFIX}{model_type}/{head}",
        source=SOURCE,
        architecture=class_name,
        family=configuration_auto.model_type_to_module_name(model_type),
        domain=_domain_of(_modalities(class_name, model_type)),
        licence=_licence_of(modeling_text(model_type)),
        gated=False,
        head=head,
    )


def _completed(model: ModelRef, model_class: Any) -> ModelRef:
    """Return the record of a model; what its type's own file left open comes from the file and bases of its class."""
    declared = getattr(model_class, "input_modalities", ())
    modalities = (declared,) if isinstance(declared, str) else tuple(declared or ())
    path = inspect.getsourcefile(model_class)
    text = Path(path).read_text(encoding="utf-8") if path and model.licence is None else ""
    return replace(model, domain=model.domain or _domain_of(modalities), licence=model.licence or _licence_of(text))


def _licence_of(text: str) -> str | None:
    """Return what the header of a source file says, as an SPDX name; None where it says nothing."""
    match = _LICENCE.search(text[:3000])
    if match is None:
        return None
    return match[1] or ("apache-2.0" if "Apache" in match[0] else "mit")


def _domain_of(modalities: tuple[str, ...]) -> Domain | None:
    """Return the domain of what takes these modalities; None where there are none."""
    if not modalities:
        return None
    seen = {"image" if modality == "video" else modality for modality in modalities}
    if len(seen) > 1:
        return "multimodal"
    return cast("Domain", {"text": "nlp", "image": "cv", "audio": "audio"}.get(seen.pop(), "other"))


_CLASS = re.compile(r"^class (\w+)\(([^)]*)\):\n((?:[ \t]+.*\n|\n)*)", re.MULTILINE)
_DECLARED = re.compile(r"^    input_modalities\s*=\s*(.+)$", re.MULTILINE)
_MAIN_INPUT = re.compile(r'^    main_input_name\s*=\s*"(\w+)"$', re.MULTILINE)


def _modalities(class_name: str, model_type: str) -> tuple[str, ...]:
    """Return `input_modalities` as the class or the nearest of its bases in the same file declares it, else what its
    main input carries; ("text",) is what transformers declares for all others. Empty when the class is not in the file.
    """
    bodies = _bodies(class_name, model_type)
    for body in bodies:
        declared = _DECLARED.search(body)
        if declared:
            return tuple(re.findall(r"\w+", declared[1]))
    named = next((match for match in map(_MAIN_INPUT.search, bodies) if match), None)
    return (load_rules().carriers.get(named[1], "text") if named else "text",) if bodies else ()


def _bodies(class_name: str, model_type: str) -> list[str]:
    """Return the bodies of a class and of its bases in the same file, nearest first."""
    classes = _classes(model_type)
    found: dict[str, str] = {}
    name = class_name
    while name in classes and name not in found:
        bases, found[name] = classes[name]
        name = next((base for base in bases if base in classes), "")
    return list(found.values())


@lru_cache(maxsize=4096)
def _classes(model_type: str) -> dict[str, tuple[list[str], str]]:
    found = _CLASS.findall(modeling_text(model_type))
    return {name: (re.findall(r"\w+", bases), body) for name, bases, body in found}
