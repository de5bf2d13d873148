"""Source `transformers`: every model type of the AutoModel mapping, from its default config, without weights.

A model id is `transformers/<type>` for the base model and `transformers/<type>/<head>` for a task head. Configs that
cannot run as published are repaired, and inputs made, by `extract.transformers_inputs` and its table.
"""

from __future__ import annotations

import hashlib
import importlib
import inspect
import json
import logging
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
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
from extract.sources import Inputs, Preparation, Prepared, check_size
from extract.transformers_changes import build_masks_by_broadcast, forget_cached_tensors, run_experts_as_batches
from extract.transformers_heads import ALL_HEADS, BASE_HEAD, head_mappings
from extract.transformers_inputs import InputPlan, TypeRow, evaluate_config, load_rules, row_of

SOURCE = "transformers"
_PREFIX = "transformers/"
_LICENCE = re.compile(r"Licensed under the Apache License, Version 2\.0|SPDX-License-Identifier:\s*(\S+)|MIT License")
_MODALITY_NAMED = re.compile(r"\b(image|video|audio|speech|multimodal)", re.IGNORECASE)
_NUM_FEATURES = re.compile(r"tokens?\b.*\bfeatures?:? (\d+)", re.IGNORECASE)
_MAX_PLACEHOLDERS = 20_000
_SUB_CONFIG_DEPTH = 3

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
    build_masks_by_broadcast()
    try:
        config = make_config(model_type, row)
        model_class = _model_class(class_name, row)
        module = _build(model_class, config, preparation)
        if row.method is not None:
            module.forward = _method(module, row.method)
        for path in row.cached:
            attrgetter(path)(module)
        plan = InputPlan(config, module.forward, row, preparation.batch_size)
        plan.set_counts()
        plan.counts.update(_learnt.get(model_id, {}))
        plan.expressions()
    except MemoryError as error:
        raise SubjectError(model_id, Reason.OUT_OF_MEMORY, describe(error)) from error
    except Exception as error:  # foreign code
        raise SubjectError(model_id, Reason.BUILD_FAILED, describe(error)) from error
    num_parameters = check_size(model_id, module, preparation.max_params)

    def make_inputs(seed: int) -> Inputs:
        forget_cached_tensors()
        device = "meta" if preparation.weights == "meta" else "cpu"
        try:
            return Inputs((), plan.make(seed, device))
        except Exception as error:  # foreign config
            raise SubjectError(model_id, Reason.INPUTS_FAILED, describe(error)) from error

    model = replace(
        _named_ref(model_type, head, class_name, model_class),
        num_parameters=num_parameters,
        config_sha256=_config_sha256(config, class_name, plan),
        repairs=row.reason if row.config or row.init or row.config_class or row.model_class or row.method else None,
        unused_reason=row.unused,
        modalities=plan.modalities(),
    )
    return Prepared(model, module, make_inputs, load_rules().carriers, lambda failure: _learn(model_id, plan, failure))


_learnt: dict[str, dict[str, int]] = {}


def _learn(model_id: str, plan: InputPlan, failure: SubjectError) -> bool:
    """Take the number of placeholders from the model's own check; tell whether that changed anything."""
    match, named = _NUM_FEATURES.search(failure.detail), _MODALITY_NAMED.search(failure.detail)
    if match is None:
        return False
    modality = named[1].lower().replace("speech", "audio").replace("multimodal", "image") if named else "image"
    count = int(match[1])
    if count > _MAX_PLACEHOLDERS:  # some checks count numbers and not rows
        count //= plan.config.get_text_config().hidden_size
    if plan.counts.get(modality) == count:
        return False
    plan.counts[modality] = count
    _learnt[model_id] = dict(plan.counts)
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
    for part in _parts(config, _SUB_CONFIG_DEPTH):
        if getattr(part, "use_cache", False):
            part.use_cache = False
    return config


def _parts(config: Any, depth: int) -> list[Any]:
    found = [config]
    if depth:
        for value in list(vars(config).values()):
            if isinstance(value, transformers.PreTrainedConfig):
                found += _parts(value, depth - 1)
    return found


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


def _model_ref(model_type: str, head: str, class_name: str) -> ModelRef:
    return ModelRef(
        model_id=f"{_PREFIX}{model_type}" if head == BASE_HEAD else f"{_PREFIX}{model_type}/{head}",
        source=SOURCE,
        architecture=class_name,
        family=configuration_auto.model_type_to_module_name(model_type),
        domain=_domain_of(_modalities(class_name, model_type)),
        licence=_licence_of(_source_text(model_type)),
        gated=False,
        head=head,
    )


@lru_cache(maxsize=4096)
def _source_text(model_type: str) -> str:
    folder = Path(cast("str", transformers.__file__)).parent / "models"
    module = configuration_auto.model_type_to_module_name(model_type)
    paths = sorted((folder / module).glob("modeling_*.py"))
    return "\n".join(path.read_text(encoding="utf-8") for path in paths)


def _named_ref(model_type: str, head: str, class_name: str, model_class: Any) -> ModelRef:
    """Return the record of a model; what its type's own file left open comes from the file and bases of its class."""
    named = _model_ref(model_type, head, class_name)
    declared = getattr(model_class, "input_modalities", ())
    modalities = (declared,) if isinstance(declared, str) else tuple(declared or ())
    path = inspect.getsourcefile(model_class)
    text = Path(path).read_text(encoding="utf-8") if path and named.licence is None else ""
    return replace(named, domain=named.domain or _domain_of(modalities), licence=named.licence or _licence_of(text))


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
    found = _CLASS.findall(_source_text(model_type))
    return {name: (re.findall(r"\w+", bases), body) for name, bases, body in found}


def _config_sha256(config: Any, class_name: str, plan: InputPlan) -> str:
    """Hash what decides the graph (definitions.md section 1): config less names and labels, class, inputs."""
    fields = _canonical(config.to_dict())
    text = json.dumps([class_name, fields, plan.expressions()], sort_keys=True, default=str, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


_IRRELEVANT = frozenset(
    "_name_or_path name_or_path architectures transformers_version tokenizer_class prefix finetuning_task "
    "task_specific_params bos_token_id eos_token_id sep_token_id id2label label2id problem_type".split()
)


def _canonical(fields: Any) -> Any:
    if isinstance(fields, dict):
        kept = {key: _canonical(value) for key, value in fields.items() if key not in _IRRELEVANT}
        if "id2label" in fields:
            kept["num_labels"] = len(fields["id2label"] or ())
        return kept
    return [_canonical(value) for value in fields] if isinstance(fields, list | tuple) else fields
