"""Source `timm`: every name of `timm.list_models()`, built without its published weights.

The input is one image of the size that the model's pretrained_cfg names.
"""

from __future__ import annotations

import difflib
import hashlib
import inspect
import json
from dataclasses import replace
from functools import lru_cache
from typing import Any

import timm
import torch
from timm.models import _registry as registry

from extract.failure import Reason, SubjectError, describe
from extract.meta_build import build_on_meta
from extract.model_ref import ModelRef
from extract.random_weights import randomise_weights
from extract.sources import Inputs, Preparation, Prepared, check_size

SOURCE = "timm"
_PREFIX = "timm/"


def list_models(heads: tuple[str, ...] = ()) -> list[ModelRef]:
    """Return every model that timm names, sorted by name; builds none, so `num_parameters` is null.

    `heads` is not asked for: each model has the head that timm gives it.
    """
    return [_model_ref(name) for name in _names()]


def prepare(model_id: str, preparation: Preparation) -> Prepared:
    """Build a model and make its one input ready, an image; raises `SubjectError`."""
    name = _known_name(model_id)
    module = _build(model_id, name, preparation)
    num_parameters = check_size(model_id, module, preparation.max_params)
    shape = (preparation.batch_size, *_input_size(name))

    def make_inputs(seed: int) -> Inputs:
        if preparation.weights == "meta":
            return Inputs((torch.empty(shape, device="meta"),), {})
        return Inputs((torch.randn(shape, generator=torch.Generator().manual_seed(seed)),), {})

    image_argument = next(iter(inspect.signature(module.forward).parameters))
    model = replace(_model_ref(name), num_parameters=num_parameters)
    return Prepared(model, module, make_inputs, {image_argument: "image"})


@lru_cache(maxsize=1)
def _names() -> tuple[str, ...]:
    return tuple(timm.list_models())


def _known_name(model_id: str) -> str:
    name = model_id.removeprefix(_PREFIX)
    if model_id.startswith(_PREFIX) and name in _names():
        return name
    close = ", ".join(_PREFIX + match for match in difflib.get_close_matches(name, _names(), n=3))
    hint = f"did you mean {close}?" if close else "timm.list_models() names all there are"
    raise SubjectError(model_id, Reason.UNKNOWN_MODEL, f"timm {timm.__version__} has no such model; {hint}")


def _build(model_id: str, name: str, preparation: Preparation) -> torch.nn.Module:
    try:
        if preparation.weights == "meta":
            return build_on_meta(lambda: timm.create_model(name, pretrained=False))
        torch.manual_seed(preparation.seed)
        module = timm.create_model(name, pretrained=False).eval()
    except MemoryError as error:
        raise SubjectError(model_id, Reason.OUT_OF_MEMORY, describe(error)) from error
    except Exception as error:  # foreign code
        raise SubjectError(model_id, Reason.BUILD_FAILED, describe(error)) from error
    randomise_weights(module, preparation.seed)
    return module


def _input_size(name: str) -> tuple[int, ...]:
    return tuple(_pretrained_cfg(name)["input_size"])


def _pretrained_cfg(name: str) -> dict[str, Any]:
    cfg = timm.get_pretrained_cfg(name)
    return {} if cfg is None else cfg.to_dict()


def _model_ref(name: str) -> ModelRef:
    cfg = _pretrained_cfg(name)
    return ModelRef(
        model_id=_PREFIX + name,
        source=SOURCE,
        architecture=name,
        family=registry._model_to_module.get(name),
        config_sha256=_config_sha256(name, cfg),
        domain="cv",
        licence=cfg.get("license"),
        gated=False,
        modalities=("image",),
    )


def _config_sha256(name: str, cfg: dict[str, Any]) -> str:
    """Hash what decides the graph (definitions.md section 1): architecture, head and input, not weights or labels."""
    canonical = {
        "source": SOURCE,
        "architecture": name,
        "head": "classification",
        "num_classes": cfg.get("num_classes"),
        "input_size": list(cfg.get("input_size", ())),
    }
    text = json.dumps(canonical, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()
