"""Source `timm`: every name of `timm.list_models()`, built without its published weights.

The input is one image of the size that the model's pretrained_cfg names.
"""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Any

import timm
import torch
from timm.models import _registry as registry

from extract.config_identity import hash_config
from extract.failure import Reason, SubjectError, describe
from extract.meta_build import build_on_meta
from extract.model_ref import ModelRef
from extract.random_weights import randomise_weights
from extract.shape_configs import Resize, Sizes
from extract.sources import Inputs, Preparation, Prepared, check_size

SOURCE = "timm"
_PREFIX = "timm/"
_CONFIG_FIELDS = ("num_classes", "input_size", "fixed_input_size")
_DEFAULT_INPUT_SIZE = (3, 224, 224)


def list_models(heads: tuple[str, ...] = ()) -> list[ModelRef]:
    """Return every model that timm names, sorted by name; builds none, so `num_parameters` is null.

    `heads` is not asked for: each model has the head that timm gives it.
    """
    return [_model_ref(name) for name in names()]


def prepare(model_id: str, preparation: Preparation) -> Prepared:
    """Build a model and make its one input ready, an image; raises `SubjectError`."""
    name = _known_name(model_id)
    return prepare_from(_model_ref(name), canonical_config(name), preparation)


def prepare_from(model: ModelRef, config: Mapping[str, Any], preparation: Preparation) -> Prepared:
    """Build the architecture that `model` names from a canonical config; raises `SubjectError`."""
    channels, height, width = _image_size(config)
    sizes: Sizes = {"batch": preparation.batch_size, "height": height, "width": width}
    resize = preparation.resize
    if resize is not None:
        sizes = resize.sizes
    built = config if resize is None else _resized(config, resize)
    module = _build(model.model_id, str(model.architecture), built, preparation)
    num_parameters = check_size(model.model_id, module, preparation.max_params)
    image_argument = next(iter(inspect.signature(module.forward).parameters))
    completed = replace(model, num_parameters=num_parameters, config_sha256=identify(str(model.architecture), config))

    def with_sizes(sizes: Sizes) -> Prepared:
        shape = (sizes["batch"], channels, sizes["height"], sizes["width"])

        def make_inputs(seed: int) -> Inputs:
            if preparation.weights == "meta":
                return Inputs((torch.empty(shape, device="meta"),), {})
            return Inputs((torch.randn(shape, generator=torch.Generator().manual_seed(seed)),), {})

        return Prepared(completed, module, make_inputs, {image_argument: "image"}, sizes=sizes, with_sizes=with_sizes)

    return with_sizes(sizes)


@lru_cache(maxsize=1)
def names() -> tuple[str, ...]:
    """Return every name of `timm.list_models()`."""
    return tuple(timm.list_models())


def family_of(name: str) -> str | None:
    """Return the module of timm that an architecture is in; None where there is no such one."""
    return registry._model_to_module.get(name)


def _known_name(model_id: str) -> str:
    name = model_id.removeprefix(_PREFIX)
    if model_id.startswith(_PREFIX) and name in names():
        return name
    close = ", ".join(_PREFIX + match for match in difflib.get_close_matches(name, names(), n=3))
    hint = f"did you mean {close}?" if close else "timm.list_models() names all there are"
    raise SubjectError(model_id, Reason.UNKNOWN_MODEL, f"timm {timm.__version__} has no such model; {hint}")


def _build(model_id: str, name: str, config: Mapping[str, Any], preparation: Preparation) -> torch.nn.Module:
    def construct() -> torch.nn.Module:
        own = {**config, "input_size": tuple(config["input_size"])}
        is_changed = config != canonical_config(name)
        pretrained_cfg = _pretrained_cfg(name) | {field: own[field] for field in _CONFIG_FIELDS} if is_changed else None
        return timm.create_model(name, pretrained=False, pretrained_cfg=pretrained_cfg, **config["model_args"])

    try:
        if preparation.weights == "meta":
            return build_on_meta(construct)
        torch.manual_seed(preparation.seed)
        module = construct().eval()
    except MemoryError as error:
        raise SubjectError(model_id, Reason.OUT_OF_MEMORY, describe(error)) from error
    except Exception as error:  # foreign code
        raise SubjectError(model_id, Reason.BUILD_FAILED, describe(error)) from error
    randomise_weights(module, preparation.seed)
    return module


def _resized(config: Mapping[str, Any], resize: Resize) -> Mapping[str, Any]:
    """Return the config with the argument by which most architectures of a fixed size are given another."""
    if not resize.changed & {"height", "width"}:
        return config
    arguments = {**config["model_args"], "img_size": (resize.sizes["height"], resize.sizes["width"])}
    return {**config, "model_args": arguments}


def _image_size(config: Mapping[str, Any]) -> tuple[int, ...]:
    """Return (channels, height, width): the record's, unless an argument of the model says otherwise."""
    channels, height, width = config["input_size"]
    size = config["model_args"].get("img_size", (height, width))
    height, width = (size, size) if isinstance(size, int) else size
    return config["model_args"].get("in_chans", channels), height, width


def _pretrained_cfg(name: str) -> dict[str, Any]:
    cfg = timm.get_pretrained_cfg(name)
    return {} if cfg is None else cfg.to_dict()


def _model_ref(name: str) -> ModelRef:
    cfg = _pretrained_cfg(name)
    return ModelRef(
        model_id=_PREFIX + name,
        source=SOURCE,
        architecture=name,
        family=family_of(name),
        config_sha256=identify(name, canonical_config(name)),
        domain="cv",
        licence=cfg.get("license"),
        gated=False,
        modalities=("image",),
    )


def identify(name: str, config: Mapping[str, Any]) -> str:
    """Return `config_sha256` (definitions.md section 1) of an architecture with a config as `canonical_config` makes
    it: head and input, not weights or labels."""
    return hash_config(SOURCE, name, "classification", config, {"batch": 1})


def canonical_config(name: str, given: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Return what timm builds an architecture from: its own record, and over it what a repository's config says.

    `given` may hold num_classes, input_size, fixed_input_size and model_args (`extract.hub_config`).
    """
    config = {field: _pretrained_cfg(name).get(field) for field in _CONFIG_FIELDS}
    config |= {field: value for field, value in (given or {}).items() if field in _CONFIG_FIELDS}
    arguments: Mapping[str, Any] = (given or {}).get("model_args") or {}
    config["model_args"] = {key: value for key, value in arguments.items() if value is not None}
    if "num_classes" in config["model_args"]:  # an argument goes before the record
        config["num_classes"] = config["model_args"].pop("num_classes")
    config["input_size"] = list(config["input_size"] or _DEFAULT_INPUT_SIZE)
    config["fixed_input_size"] = bool(config["fixed_input_size"])
    return config
